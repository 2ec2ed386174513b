"""Reports to sign: facts about a release and its files, as a page or as PDF, and their check."""
