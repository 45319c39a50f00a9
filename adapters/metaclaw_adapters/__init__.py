"""The claws: how each agent is pointed at the gateway and given back as it was."""
