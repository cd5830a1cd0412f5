"""What a terminal shows: tables, pages, streams."""
