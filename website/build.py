"""The site of the project in this folder, which appears whole or not at all: python website/build.py site"""

from __future__ import annotations

import sys

from mkdocs.commands.build import build
from mkdocs.config import load_config

from ebformer.atomic import replacing_folder

with replacing_folder(sys.argv[1]) as partial:
    config = load_config(strict=True, site_dir=str(partial))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    config.plugins.on_shutdown()
