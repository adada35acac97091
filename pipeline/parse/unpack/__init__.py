"""What archives are made of: streams of compressed bytes, the directory of a ZIP archive, the blocks of a tape."""
