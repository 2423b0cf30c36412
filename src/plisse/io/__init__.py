"""Files in and out: scenes, meshes, runs."""
