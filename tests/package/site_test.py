"""Builds the site of the documents without its gallery, which needs minutes: all links lead somewhere, no page loads
anything from another host, every document and every public name of the Python package is there, and the search finds
pages that were opened as files. Exits with 77, "skipped", only if PyPI cannot be reached for the packages.

    site_test.py FOLDER             the folder gets the site
    site_test.py --self-test        faults in a site are found
"""
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
sys.path.append(os.path.join(SOURCE, 'site'))
from check_links import findings_of  # noqa: E402

UNREACHABLE = r'\(from versions: none\)|NewConnectionError|ConnectTimeout|Name or service not known|name resolution'

PAGE = '<html><head>{}</head><body><h1 id="top">x</h1>{}</body></html>'
SOUND = '<a href="b.html#top">b</a><a href="#top"></a><a href="https://example.org"></a><img src="data:image/png;base64,">'
FAULTS = (  # faulty contents of a page: of its head, and of its body
    ('', '<a href="c.html">no such page</a>'), ('', '<a href="b.html#none">no such place</a>'), ('', '<a href="#none"></a>'),
    ('<script src="https://example.org/x.js"></script>', ''), ('<link rel="stylesheet" href="//example.org/x.css">', ''),
    ('', '<img src="https://example.org/x.png">'), ('', '<img src="x.png">'), ('<link rel="icon" href="x.svg">', ''),
    ('<style>@import "https://example.org/x.css";</style>', ''), ('<link href="far.css" rel="stylesheet">', ''))


def run(*words, **more):
    return subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=SOURCE, timeout=600, **more)


def refuse(finding):
    sys.exit(f'site_test: {finding}')


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)

        write('b.html', PAGE.format('', ''))
        write('a.html', PAGE.format('<link rel="stylesheet" href="near.css">', SOUND))
        write('near.css', 'p { background: url(data:image/png;base64,) }')
        assert list(findings_of(folder)) == [], list(findings_of(folder))
        for head, body in FAULTS:
            write('far.css', 'p { background: url("https://example.org/x.png") }' if 'far.css' in head else '')
            write('a.html', PAGE.format(head, body))
            assert len(list(findings_of(folder))) == 1, (head, body, list(findings_of(folder)))


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def check_pages(folder):
    """Every document is a page; no link still has the name of a source."""
    documents = [it.removeprefix('docs/') for it in glob.glob('docs/**/*.md', recursive=True, root_dir=SOURCE)]
    for page in [*documents, 'index.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md']:
        text = read(folder, page.removesuffix('.md') + '.html')
        if re.search(r'href="[^":]*\.md["#]', text):
            refuse(f'{page} has a link to a source')


def check_reference(folder):
    """Every public name of a module has an entry, and every keyword of join() a row."""
    for path in glob.glob('bindings/python/steelyard/[a-z]*.py', root_dir=SOURCE):
        module, tree = os.path.basename(path)[:-3], ast.parse(read(SOURCE, path))
        listed = [it.value for it in tree.body if isinstance(it, ast.Assign) and getattr(it.targets[0], 'id', '') == '__all__']
        if not listed:
            continue
        page = read(folder, 'api', module + '.html')
        for name in ast.literal_eval(listed[0]):
            if f'id="steelyard.{module}.{name}"' not in page:
                refuse(f'api/{module}.html has no entry for {name}')
    if '<td><code>optimizer</code></td>' not in read(folder, 'api/torch.html'):
        refuse('the docstring of join() has become no table')


def check_search(folder):
    """A browser opens the site as a file and searches."""
    browser = shutil.which('chromium')
    if not browser:
        refuse('chromium is missing: script/setup installs it')
    with tempfile.TemporaryDirectory() as profile:
        page = run(browser, '--headless', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--dump-dom',
                   f'--user-data-dir={profile}', '--virtual-time-budget=20000',
                   f'file://{os.path.abspath(folder)}/index.html?q=straggler').stdout
    if not re.search(r'<a href="[^"]*/policies\.html[^"]*" class="md-search-result__link"', page):
        refuse('a search for "straggler" does not find docs/policies.md')


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    folder = sys.argv[1]
    environment = dict(os.environ, PYTHON=sys.executable)
    installed = run('script/setup', '--site', env=environment)
    unreachable = [it for it in installed.stdout.splitlines() if re.search(UNREACHABLE, it)]
    if installed.returncode and unreachable:
        print(f'skipped: PyPI cannot be reached for mkdocs: {unreachable[-1]}')
        sys.exit(77)
    built = run('script/site', '--no-gallery', '--output', folder, env=environment)
    if installed.returncode or built.returncode:
        refuse(installed.stdout + built.stdout)
    check_pages(folder)
    check_reference(folder)
    check_search(folder)


if __name__ == '__main__':
    main()
