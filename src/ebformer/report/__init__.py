"""What a reader sees: words, tables, pictures and the page that holds them (`pip install 'ebformer[plot]'`)."""
