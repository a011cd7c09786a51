"""One attempt: workspace, server, proxy, agent, snapshot. Nothing here knows a hidden check."""
