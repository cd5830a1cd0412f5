"""Tables and figures of the papers, run again and laid beside the print."""
