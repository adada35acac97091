"""Matrix products of an encoder and of a decoder, and how their weights lie in memory."""
