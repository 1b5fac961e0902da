"""daemon: builds the rooms, starts and watches the processes, opens the doors."""
