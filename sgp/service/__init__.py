"""Planning work in a process of its own, with limits, progress and cancel. Importing it needs no planning library."""
