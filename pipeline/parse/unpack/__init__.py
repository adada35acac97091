"""The structures of archives: streams of compressed bytes, the directory of a ZIP archive, the blocks of a tape."""
