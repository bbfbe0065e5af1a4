"""Write the input files, rubrics and gold sets of every Case of this benchmark. Same output on every machine.

    python3 generate.py            from the directory of this file

Each Case's revisions go to <CASE>/draft and <CASE>/sharpenings/<n>; the last one is also ../<CASE>.
"""
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from making.cases import CASES, CONFIG, CONTRACT, case_yaml, sharpening_yaml
from making.common import write_rubric, write_statement


def main():
    (HERE / "contract.yaml").write_text(CONTRACT, encoding="utf-8")
    (HERE.parent / "benchmark_config.toml").write_text(CONFIG, encoding="utf-8")
    for case in CASES:
        root = HERE / case.id
        shutil.rmtree(root, ignore_errors=True)
        for number, revision in enumerate(case.revisions()):
            place = root / "draft" if number == 0 else root / "sharpenings" / str(number)
            write_statement(revision, place / "statement")
            write_rubric(revision, case.title, place / "rubric")
            if number:
                (place / "sharpening.yaml").write_text(sharpening_yaml(case, number), encoding="utf-8")
        final = HERE.parent / case.id
        write_statement(revision, final / "statement")
        write_rubric(revision, case.title, final / "rubric")
        (root / "case.yaml").write_text(case_yaml(case, revision), encoding="utf-8")


if __name__ == "__main__":
    main()
