"""A hook of mkdocs: adds the pages that are not in docs/, and makes links of the repository's view work on the site.

Pages: those of the root (README.md is the front page), the gallery of script/gallery, and the reference of the Python
package, one page for each module. A link to a file that is not a page becomes its path as code.
"""
import ast
import os
import posixpath
import re
import sys

from mkdocs.structure.files import File

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, 'site'))
from gallery_examples import EXAMPLES  # noqa: E402

FOLDERS = {'gallery': 'build/gallery', 'assets': 'site/assets'}  # of the site, and where their files are
NO_GALLERY = '# Gallery\n\nThis site was built without the gallery: `script/site` adds it.\n'
ROOT_PAGES = {'README.md': 'index.md'} | {
    it: it for it in ('ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md')}
ROOT_PAGES |= {f'engines/{it}/README.md': f'engines/{it}.md' for it in sorted(os.listdir(os.path.join(ROOT, 'engines')))
               if os.path.exists(os.path.join(ROOT, 'engines', it, 'README.md'))}
MODULES = ('torch', 'keras', 'jax', 'arrays', 'lightning', 'transformers', 'accelerate', 'ray', 'dask', 'track', 'balance')
# Code, which stays as it is, or a link.
LINK = re.compile(r'(?P<code>^```.*?^```|`[^`]*`)|(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s]+)\)', re.DOTALL | re.MULTILINE)


def on_config(config):
    """Lists the pages of two sections."""
    decisions = sorted(it for it in os.listdir(os.path.join(ROOT, 'docs/decisions')) if it[0].isdigit())
    sections = {
        'decisions/': ['decisions/index.md', *(f'decisions/{it}' for it in decisions)],
        'gallery/': ['gallery/index.md', *gallery_pages()],
        'api/': ['api/index.md', *({f'steelyard.{it}': f'api/{it}.md'} for it in MODULES)],
    }
    for tab in config.nav:
        for pages in (it for it in tab.values() if isinstance(it, list)):
            for page in pages:
                for title, target in page.items():
                    page[title] = sections.get(target, target)
    return config


def gallery_pages():
    """Those that script/gallery has made, in its order."""
    names = [*({it.title: f'gallery/{it.name}.md'} for it in EXAMPLES), {'Pages of the program': 'gallery/pages.md'}]
    return names if os.environ.get('STEELYARD_GALLERY') else []


def on_files(files, config):
    for path, place in ROOT_PAGES.items():
        files.append(File.generated(config, place, abs_src_path=os.path.join(ROOT, path)))
    index = ['# Python reference\n\n| module | purpose |\n| --- | --- |']
    for it in MODULES:
        purpose, names = described(it)
        members = f'    options: {{members: [{", ".join(names)}]}}\n' if names else ''
        files.append(File.generated(config, f'api/{it}.md', content=f'# steelyard.{it}\n\n::: steelyard.{it}\n{members}'))
        index.append(f'| [steelyard.{it}]({it}.md) | {purpose} |')
    files.append(File.generated(config, 'api/index.md', content='\n'.join([*index, '\n::: steelyard'])))
    for place, folder in FOLDERS.items():
        if place == 'gallery' and not os.environ.get('STEELYARD_GALLERY'):
            files.append(File.generated(config, 'gallery/index.md', content=NO_GALLERY))
            continue
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            files.append(File.generated(config, f'{place}/{name}', abs_src_path=os.path.join(ROOT, folder, name)))
    return files


def described(module):
    """The first line of its docstring, and its public names: functions first."""
    with open(os.path.join(ROOT, f'bindings/python/steelyard/{module}.py'), encoding='utf-8') as file:
        tree = ast.parse(file.read())
    names = [ast.literal_eval(it.value) for it in tree.body
             if isinstance(it, ast.Assign) and getattr(it.targets[0], 'id', '') == '__all__']
    return (ast.get_docstring(tree).split('\n')[0],
            sorted(*names, key=lambda it: (it[0].isupper(), it != 'join')) if names else [])


def on_page_content(html, **_):
    """A percentage in a table stays on one line."""
    return re.sub(r'(?<=\d) %(?=</td>)', '&nbsp;%', html)


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    if here == 'index.md':
        page.meta['hide'] = ['navigation']
    if here.startswith(('api/', 'gallery/')):
        return markdown
    root_page = {place: path for path, place in ROOT_PAGES.items()}.get(here)
    return LINK.sub(lambda link: rewritten(link, root_page or f'docs/{here}', here, files), markdown)


def rewritten(link, path, here, files):
    """The link of the file `path` of the repository, as page `here` of the site."""
    target, _, part = (link['target'] or '').partition('#')
    if link['code'] or not target or '://' in target or target.startswith('mailto:'):
        return link[0]
    there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    place = ROOT_PAGES.get(there, there.removeprefix('docs/'))
    for candidate in (place, f'{place}/index.md'):
        known = files.get_file_from_path(candidate)
        if known:
            place = posixpath.relpath(candidate, posixpath.dirname(here) or '.')
            return f'{with_title(link["text"], known.page)}({place}{"#" + part if part else ""})'
    if not os.path.exists(os.path.join(ROOT, there)):
        return link[0]  # mkdocs reports it
    text = link['text'][1:-1]
    return f'`{there}`' if text.strip('`') in there else f'{text} (`{there}`)'


def with_title(text, page):
    """The text of a link to a page; if it is the name of the page's file, its title in the menu."""
    return f'[{page.title}]' if re.fullmatch(r'\[[\w/]+\.md\]', text) and page.title else text
