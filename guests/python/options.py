"""Options of locks, which users give as name=value."""
import re

UNITS = {"ms": 0.001, "s": 1, "m": 60}


class Option:
    def __init__(self, standard, parse, want):
        self.standard, self.parse, self.want = standard, parse, want


def duration(standard):
    """Seconds, written as 200ms or 5s."""
    def parse(text):
        match = re.fullmatch("([0-9]+)(ms|s|m)", text)
        return int(match[1]) * UNITS[match[2]] if match else None
    return Option(standard, parse, "a duration such as 200ms or 5s")


def on_off(standard):
    return Option(standard, {"on": True, "off": False}.get, "on or off")


def one_of(standard, *others):
    words = (standard, *others)
    return Option(standard, lambda text: text if text in words else None, " or ".join(words))


def read(lock, options, words):
    """The values of a lock's options, of which words gives some."""
    given = dict(word.partition("=")[::2] for word in words)
    for name in given:
        if name not in options:
            raise ValueError(f"{lock} has no option {name}; it has {', '.join(options)}")
    values = {}
    for name, option in options.items():
        text = given.get(name, option.standard)
        values[name] = option.parse(text)
        if values[name] is None:
            raise ValueError(f'option {name} of {lock}: "{text}" is not {option.want}')
    return values
