"""The site of the project in this folder, which appears whole or not at all: python website/build.py site"""

from __future__ import annotations

import subprocess
import sys

from ebformer.atomic import replacing_folder

with replacing_folder(sys.argv[1]) as partial:
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(partial)])
    if built.returncode:
        sys.exit(built.returncode)
