"""What of the documentation site is generated: pages from sources, and pictures of runs."""
