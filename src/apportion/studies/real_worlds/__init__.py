"""What policies earn in the worlds fitted to public histories: the scores, the page, the headline."""
