"""Plays a TextWorld game for as long as it is told; run by its path, by an interpreter that has textworld.

The game is made here (world size 5, 10 objects, a quest of 5) and played in TextWorld's own Python engine, the fastest
that it has, by a random player that reads the list of legal commands. Reads seconds a line, answers steps, episodes and
seconds.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from pathlib import Path

LIMIT = 30


def main() -> None:
    """Answer until the pipe closes."""
    import textworld

    options = textworld.GameOptions()
    options.nb_rooms, options.nb_objects, options.chaining.max_length, options.seeds = 5, 10, 5, 1234
    game = textworld.generator.make_game(options)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "game.json")
        game.save(path)
        env = textworld.start(path, textworld.EnvInfos(admissible_commands=True, won=True))
    choose = random.Random(1).choice
    for line in sys.stdin:
        steps = episodes = 0
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < float(line):
            state, done = env.reset(), False
            for _ in range(LIMIT):
                state, _, done = env.step(choose(state.admissible_commands))
                steps += 1
                if done:
                    break
            episodes += 1
        sys.stdout.write(json.dumps([steps, episodes, spent]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
