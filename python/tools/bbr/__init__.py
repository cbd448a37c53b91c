"""The example test cases of BBR's draft: networks, what they show, and the cases by phase."""
