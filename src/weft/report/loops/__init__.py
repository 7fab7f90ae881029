"""Reports on sequential loops: as data, text and pages."""
