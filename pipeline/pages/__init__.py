"""How pages for people look: one stylesheet, one template around each page, axes and charts, and text that is safe."""
