"""Pictures and HTML pages made from results. Computes no statistics of its own."""
