"""What a method is, the one training loop, shared first tasks, replay memory."""
