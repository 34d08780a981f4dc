"""The gateway as a whole: real applications, real sockets, the whole document."""
