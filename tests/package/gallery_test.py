"""The machinery of script/gallery, with made examples and with one real one: a page has commands, result and files; an
unexpected result is an error; an example whose needs are missing is named as not run.

    gallery_test.py PROGRAM
"""
import dataclasses
import glob
import os
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..'))
sys.path.append(os.path.join(SOURCE, 'site'))
import gallery  # noqa: E402
from gallery_examples import EXAMPLES, Example  # noqa: E402

MADE = Example('made', 'A made one', 'It prints a number.', ('echo page > page.html', 'echo the result is 7'), 'page.html',
               'It is 7.', (r'result is (\d+)', 7), after=('echo over > after',))


class Gallery(unittest.TestCase):
    def setUp(self):
        folder, before = tempfile.TemporaryDirectory(), os.getcwd()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)
        os.chdir(folder.name)
        for name in ('gallery', 'bin'):
            os.mkdir(name)
        os.symlink(PROGRAM, 'bin/steelyard')
        os.symlink(os.path.join(SOURCE, 'examples'), 'examples')
        self.environment = gallery.environment_for(PROGRAM, folder.name)

    def shown(self, example):
        """Row and page of an example, without a picture."""
        row = gallery.show_example(example, self.environment, '', 'gallery')
        with open(f'gallery/{example.name}.md', encoding='utf-8') as file:
            return row, file.read()

    def test_a_page(self):
        row, page = self.shown(dataclasses.replace(MADE, files=('shapes.toml',), elsewhere=('far away',)))
        self.assertRegex(row, r'^\| \[A made one\]\(made.md\) \| \d+ \| It is 7. \|$')
        for part in ('    echo the result is 7\n', '**Expected:** It is 7.', '```\nthe result is 7\n```', '[Open the page.](made_page.html)',
                     'were not run here:\n\n    far away', '`examples/gallery/shapes.toml`:\n\n```toml\n# Pictures'):
            self.assertIn(part, page)
        self.assertTrue(os.path.exists('gallery/made_page.html') and os.path.exists('after'))

    def test_an_unexpected_result_and_a_failed_command_are_errors(self):
        for changed in ({'proof': (r'result is (\d+)', 8)}, {'proof': (r'nothing (\d+)', 0)}, {'commands': ('exit 3',)}):
            if os.path.exists('after'):
                os.remove('after')
            with self.assertRaisesRegex(SystemExit, 'script/gallery: '):
                self.shown(dataclasses.replace(MADE, **changed))
            self.assertTrue(os.path.exists('after'), changed)

    def test_what_is_missing_is_named(self):
        row, page = self.shown(dataclasses.replace(MADE, needs='no_such_module'))
        self.assertIn('| not run here |', row)
        self.assertIn('This example was not run here: it needs the module no_such_module.', page)
        self.assertFalse(os.path.exists('page.html'))

    def test_a_real_one(self):
        example = next(it for it in EXAMPLES if it.name == 'nine_methods')
        self.assertIn('steelyard bsp is first', self.shown(example)[1])
        self.assertGreater(os.path.getsize('gallery/nine_methods_page.html'), 10_000)

    def test_all_files_are_there_and_used(self):
        used = {os.path.normpath(f'examples/gallery/{name}') for it in EXAMPLES for name in it.files}
        self.assertEqual([it for it in used if not os.path.exists(it)], [])
        self.assertEqual(set(glob.glob('examples/gallery/*')) - used, set())
        self.assertEqual(len({it.name for it in EXAMPLES}), 12)

    def test_no_page_of_the_program_has_the_name_of_a_page_of_the_site(self):
        self.shown(MADE)
        names = [it.rpartition('.') for it in os.listdir('gallery')]
        self.assertEqual({it[0] for it in names if it[2] == 'md'} & {it[0] for it in names if it[2] == 'html'}, set())


if __name__ == '__main__':
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
