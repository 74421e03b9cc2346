"""An agent's folder as plain files: journal, set-aside, audit log, lock."""
