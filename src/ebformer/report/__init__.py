"""Pictures, tables and pages: the only place that imports matplotlib (`pip install 'ebformer[plot]'`)."""
