"""Looking at agents from outside and inside; takes no lock and changes nothing."""
