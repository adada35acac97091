"""What documents will take, by what others took."""
