"""The studio: a scene in the browser, previewed while it is edited and refined while it is left alone."""
