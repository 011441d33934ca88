"""Checks the built site: every link leads to a page and a place that exist, and no page loads anything from elsewhere.

    check_links.py FOLDER
"""
import os
import re
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

# Attributes that a browser loads at once, and the same in styles.
LOADED = {'script': 'src', 'img': 'src', 'iframe': 'src', 'source': 'src', 'link': 'href', 'object': 'data'}
LOADED_BY_STYLES = re.compile(r'''(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)''')


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.places, self.links, self.loaded, self.in_style = {''}, [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        known = dict(attrs)
        self.in_style = tag == 'style'
        self.places |= {known.get('id'), known.get('name')}
        for name in ('href', 'src', 'data'):
            if known.get(name) and (tag, name) != ('base', 'href'):
                (self.loaded if LOADED.get(tag) == name else self.links).append(known[name])

    def handle_data(self, data):
        if self.in_style:
            self.loaded += LOADED_BY_STYLES.findall(data)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def findings_of(folder):
    files = [os.path.join(where, name) for where, _, names in os.walk(folder) for name in names]
    pages = {it: Page(read(it)) for it in files if it.endswith('.html')}
    for path in sorted(it for it in files if it.endswith('.css')):
        for link in LOADED_BY_STYLES.findall(read(path)):
            yield f'{path}: loads {link} from another host'
    for path, page in sorted(pages.items()):
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != 'data':
                    yield f'{path}: loads {link} from another host'
                continue
            there = path if not parts.path else os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path)))
            if parts.path.startswith('/') and os.path.basename(path) == '404.html':
                continue  # this page is shown at any address, so its links begin at the root of the server
            if not os.path.isfile(there):
                yield f'{path}: {link} does not exist'
            elif there in pages and unquote(parts.fragment) not in pages[there].places:
                yield f'{path}: {link} names no place of that page'


def main():
    findings = list(findings_of(sys.argv[1]))
    print('\n'.join(findings), end='\n' if findings else '')
    sys.exit(1 if findings else 0)


if __name__ == '__main__':
    main()
