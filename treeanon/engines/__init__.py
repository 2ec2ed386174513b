"""Where releases are made when one machine is not the place: engines behind one small protocol."""
