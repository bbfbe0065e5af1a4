"""WebShop's own catalogue by path, on small files of its shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.foundation.errors import UsageError
from trainer.worlds import open_world
from trainer.worlds.shop.webshop import UNPRICED, load


def item(asin: str, query: str, name: str, **more: Any) -> dict[str, Any]:
    return {
        "asin": asin,
        "name": name,
        "category": "fashion",
        "query": query,
        "pricing": "$12.99 to $20.00",
        "customization_options": {
            "color": [{"value": "Navy", "image": "x.jpg"}, {"value": "black"}],
            "size": [{"value": "Small"}, {"value": "large"}],
            "style": [{"value": "long"}],
        },
        "small_description": ["Soft.", "Warm."],
        **more,
    }


def files(tmp_path: Path, items: Any, attributes: Any) -> tuple[Path, Path]:
    paths = tmp_path / "items_shuffle.json", tmp_path / "items_ins_v2.json"
    for path, value in zip(paths, (items, attributes), strict=True):
        path.write_text(json.dumps(value), "utf-8")
    return paths


def catalogue(tmp_path: Path, kinds: int = 12) -> tuple[Path, Path]:
    items = [
        item(f"B{kind:03d}{at}", f"Kind{kind} shirts", f"Brand {at} machine wash kind{kind} shirts")
        for kind in range(kinds)
        for at in range(4)
    ]
    said = {entry["asin"]: {"attributes": ["machine wash", "long sleeve"], "instruction": "x"} for entry in items}
    return files(tmp_path, items, said)


def test_products_are_read_into_what_the_shop_knows(tmp_path: Path) -> None:
    goods = load(*catalogue(tmp_path))
    product = goods.products["B0000"]
    assert product.kind == "kind0 shirts"
    assert (product.attributes, product.features) == (("machine wash",), ("long sleeve",))
    assert (product.colors, product.sizes) == (("navy", "black"), ("small", "large"))
    assert product.price("large") == product.price() == 1299
    assert not set(goods.kinds["train"]) & set(goods.kinds["test"])
    assert len(goods.kinds["train"]) + len(goods.kinds["test"]) == 12


def test_the_shop_runs_on_webshops_goods(tmp_path: Path) -> None:
    items, attributes = catalogue(tmp_path)
    world = open_world("shop", items=items, attributes=str(attributes))
    assert world.fingerprint != open_world("shop").fingerprint
    for family in world.families:
        task = world.group("test", 1, 1, family)[0]
        oracle = [skill for skill, name in zip(world.oracle(), world.families, strict=True) if name == family]
        episode = world.run(task, oracle, "strong")
        assert episode.success is not None
        game = world.play(task)
        assert "Instruction:" in game.intro
    plain = world.group("train", 2, 20, "color")
    skill = [world.oracle()[2]]
    assert sum(bool(world.run(task, skill, "weak").success) for task in plain) > 12


def test_a_product_without_price_or_options_is_taken_as_it_is(tmp_path: Path) -> None:
    items = [item(f"B{at}", f"kind{at // 2}", "Thing", pricing="", customization_options=None) for at in range(40)]
    goods = load(*files(tmp_path, items, {}))
    product = goods.products["B0"]
    assert (product.cents, product.colors, product.sizes, product.attributes) == (UNPRICED, (), (), ())
    world = open_world("shop", items=tmp_path / "items_shuffle.json", attributes=tmp_path / "items_ins_v2.json")
    with pytest.raises(UsageError, match="has an attribute, a feature, a color and a size"):
        world.stream("train", 0, 1)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    items, attributes = catalogue(tmp_path)
    with pytest.raises(UsageError, match="needs two files"):
        open_world("shop", items=items)
    with pytest.raises(UsageError, match=r"no file .*none\.json"):
        load(tmp_path / "none.json", attributes)
    with pytest.raises(UsageError, match="no list of products"):
        load(attributes, attributes)
    with pytest.raises(UsageError, match="no table of attributes"):
        load(items, items)
    with pytest.raises(UsageError, match=r"Product 2 of .* has no query"):
        load(*files(tmp_path, [item("A", "k", "t"), item("B", "", "t")], {}))
    with pytest.raises(UsageError, match="no kind of product with 2 products for"):
        load(*files(tmp_path, [item("A", "k", "t")], {}))
    items.write_text("{", "utf-8")
    with pytest.raises(UsageError, match="can't be read"):
        load(items, attributes)
