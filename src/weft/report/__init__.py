"""Reports for people: text, HTML, pictures."""
