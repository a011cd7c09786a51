"""What is asked (tasks), of whom (modes), under which settings: loaded and validated into frozen values."""
