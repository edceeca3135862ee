"""The command lines of well-known programs: subcommands, options that take a value, other names.

Only what changes the reading of a command line is listed. A program that is not listed has its
options taken one by one, and every other word is an operand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.frozen import field, frozen


@frozen
class CommandLine:
    """The options of a program or of one of its subcommands."""

    values: frozenset[str] = frozenset()
    """The options that take a value, by each of their names."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Options with a second name: `-f` is `--force`."""
    long: tuple[str, ...] = ()
    """Long options that may be abbreviated: `--forc`."""
    subcommands: Mapping[str, CommandLine] | None = None
    """The subcommands; a name that is not listed has no options that take a value."""
    single_dash: bool = False
    """Is `-name` one option, and not a cluster of letters?"""
    operands_first: bool = False
    """Do operands stand before the options only?"""


def _line(
    values: str = "",
    pairs: str = "",
    long: str = "",
    subcommands: Mapping[str, CommandLine] | None = None,
    *,
    single_dash: bool = False,
    operands_first: bool = False,
) -> CommandLine:
    other = dict(pair.split("=") for pair in pairs.split())
    listed = set(values.split())
    # An option that takes a value does so under both of its names.
    listed |= {other[name] for name in listed if name in other}
    listed |= {short for short, name in other.items() if name in listed}
    extra = (*long.split(), *(name for name in other.values() if name.startswith("--")))
    return CommandLine(frozenset(listed), other, extra, subcommands, single_dash, operands_first)


def names(text: str) -> frozenset[str]:
    """The names in a text, for tables."""
    return frozenset(text.split())


PLAIN: Final = CommandLine()

_GIT: Final = {
    "push": _line(
        "-o --push-option --repo --receive-pack --exec",
        "-f=--force -d=--delete -n=--dry-run -u=--set-upstream -q=--quiet -v=--verbose",
        "--force-with-lease --force-if-includes --mirror --all --branches --tags --prune "
        "--no-verify --follow-tags --atomic --porcelain --thin --progress --signed",
    ),
    "commit": _line(
        "-m -F -C -c -t --author --date --fixup --squash --cleanup --trailer "
        "--pathspec-from-file --reuse-message --reedit-message --template",
        "-n=--no-verify -a=--all -m=--message -F=--file -p=--patch -s=--signoff -q=--quiet "
        "-v=--verbose -e=--edit -o=--only -i=--include -z=--null",
        "--amend --allow-empty --allow-empty-message --no-edit --dry-run --reset-author --verify "
        "--no-gpg-sign --no-signoff --no-status --short --branch --porcelain --interactive",
    ),
    "merge": _line(
        "-m -F -s -X --strategy --strategy-option --file --into-name --cleanup",
        "-n=--no-stat -q=--quiet -v=--verbose",
        "--no-verify --abort --continue --no-ff --ff-only --squash --no-commit --no-edit",
    ),
    "rebase": _line(
        "-x --exec --onto -s -X -C --strategy --strategy-option --whitespace --empty",
        "-i=--interactive -x=--exec -f=--force-rebase -q=--quiet -v=--verbose -n=--no-stat",
        "--no-verify --root --abort --continue --skip --autosquash --autostash --update-refs",
    ),
    "reset": _line(
        "--pathspec-from-file",
        "-q=--quiet -p=--patch -N=--intent-to-add",
        "--hard --soft --mixed --merge --keep",
    ),
    "clean": _line(
        "-e --exclude", "-f=--force -n=--dry-run -i=--interactive -q=--quiet -e=--exclude"
    ),
    "checkout": _line(
        "-b -B --orphan --conflict --pathspec-from-file",
        "-f=--force -q=--quiet -m=--merge -p=--patch -d=--detach -t=--track",
    ),
    "switch": _line(
        "-c -C --orphan --conflict",
        "-f=--force -c=--create -C=--force-create -d=--detach",
        "--discard-changes",
    ),
    "branch": _line(
        "-u --set-upstream-to --contains --merged --sort --format --points-at",
        "-d=--delete -f=--force -m=--move -c=--copy -a=--all -r=--remotes -l=--list -v=--verbose",
    ),
    "tag": _line(
        "-m -F -u --message --file --local-user --sort --format", "-d=--delete -f=--force"
    ),
    "config": _line(
        "-f --file --blob --type --default --value",
        "-f=--file -l=--list -e=--edit",
        "--global --local --system --worktree --add --unset --unset-all --get --replace-all",
    ),
    "am": _line("", "", "--no-verify --abort --continue --skip"),
    "pull": _line(
        "-s -X --strategy --strategy-option --upload-pack",
        "-f=--force -r=--rebase -q=--quiet",
        "--no-verify --ff-only --no-ff --autostash",
    ),
    "fetch": _line("--upload-pack --depth -j -o", "-f=--force -p=--prune -a=--append"),
    "clone": _line("-b -o -c -u -j --depth --branch --origin --config --reference --template"),
    "log": _line("-n -S -G -L --max-count --since --until --author --grep --format --pretty"),
    "grep": _line("-e -f -A -B -C -m -O --max-depth", "-O=--open-files-in-pager"),
    "difftool": _line("-x -t --tool", "-x=--extcmd -y=--no-prompt -d=--dir-diff -t=--tool"),
    "rm": _line("--pathspec-from-file", "-f=--force -r=--recursive -n=--dry-run"),
    "diff": _line("--output -S -G -U -O --unified --stat-width --word-diff-regex"),
    "stash": _line("-m --message"),
    "submodule": _line("-b --branch --reference --depth"),
    "worktree": _line("-b -B --reason", "-f=--force"),
    "filter-branch": _line(
        "--env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter "
        "--tag-name-filter --subdirectory-filter --original -d --setup",
        "-f=--force",
    ),
    "bisect": PLAIN,
}
GIT_COMMANDS: Final = frozenset(_GIT) | names(
    "add annotate apply archive backfill blame bugreport bundle cat-file check-attr "
    "check-ignore check-mailmap check-ref-format checkout-index cherry cherry-pick citool "
    "column commit-graph commit-tree count-objects credential describe diagnose diff "
    "diff-files diff-index diff-tree difftool fast-export fast-import fetch-pack "
    "filter-repo fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc "
    "get-tar-commit-id gui hash-object help hook imap-send init instaweb "
    "interpret-trailers lfs ls-files ls-remote ls-tree mailinfo mailsplit maintenance "
    "merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv "
    "name-rev notes pack-objects pack-redundant pack-refs patch-id prune prune-packed "
    "range-diff read-tree reflog refs remote repack replace replay request-pull rerere "
    "restore rev-list rev-parse revert rm send-email send-pack shortlog show show-branch "
    "show-index show-ref sparse-checkout stage status stripspace subtree svn symbolic-ref "
    "unpack-file unpack-objects update-index update-ref update-server-info upload-archive "
    "var verify-commit verify-pack verify-tag version web--browse whatchanged "
    "write-tree"
)
"""A git command that is not among these is an alias, or a program of somebody's own."""

_INSTALL: Final = _line(
    "-r -c -e -t -i -f -b --requirement --constraint --editable --target --index-url "
    "--extra-index-url --find-links --prefix --root --platform --python --python-version "
    "--only-binary --no-binary --report --cache-dir --timeout --proxy --group --index",
    "-r=--requirement -c=--constraint -e=--editable -U=--upgrade -t=--target -i=--index-url",
)
_NPM: Final = _line(
    "-w --workspace --registry --prefix --tag -C --dir --filter",
    "-D=--save-dev -g=--global -E=--save-exact -w=--workspace -f=--force -S=--save",
    "--save-exact",
)
_PIP: Final = _line(
    "--log --proxy --timeout --python --cache-dir --retries",
    "",
    "",
    {"install": _INSTALL, "download": _INSTALL, "wheel": _INSTALL},
)

PROGRAMS: Final[Mapping[str, CommandLine]] = {
    "git": _line(
        "-C -c --git-dir --work-tree --namespace --exec-path --super-prefix --config-env",
        "-p=--paginate -P=--no-pager",
        "",
        _GIT,
    ),
    "rm": _line(
        "",
        "-r=--recursive -R=--recursive -f=--force -d=--dir -i=--interactive",
        "--no-preserve-root --preserve-root --one-file-system",
    ),
    "rmdir": _line("", "-p=--parents"),
    "unlink": PLAIN,
    "shred": _line("-n -s --iterations --size --random-source", "-u=--remove -z=--zero -f=--force"),
    "truncate": _line("-s -r --size --reference", "-c=--no-create"),
    "chmod": _line("--reference", "-R=--recursive -f=--silent -v=--verbose -c=--changes"),
    "chown": _line("--reference --from", "-R=--recursive"),
    "cp": _line("-t -S --target-directory --suffix", "-r=--recursive -R=--recursive -f=--force"),
    "mv": _line("-t -S --target-directory --suffix", "-f=--force -n=--no-clobber"),
    "ln": _line("-t -S --target-directory --suffix", "-s=--symbolic -f=--force"),
    "mkdir": _line("-m --mode", "-p=--parents"),
    "cat": PLAIN,
    "head": _line("-n -c --lines --bytes"),
    "tail": _line("-n -c --lines --bytes --pid -s", "-f=--follow"),
    "grep": _line(
        "-e -f -A -B -C -m -d -D --include --exclude --exclude-dir --regexp --file "
        "--max-count --color",
        "-r=--recursive -R=--dereference-recursive",
    ),
    "rg": _line(
        "-e -f -A -B -C -m -g -t -T -j --type --glob --iglob --max-count --max-depth "
        "--pre --pre-glob"
    ),
    "sed": _line(
        "-e -f -l --expression --file --line-length",
        "-i=--in-place -e=--expression -f=--file -n=--quiet -r=--regexp-extended",
    ),
    "awk": _line("-f -v -F --file --assign --field-separator", "-f=--file"),
    "sort": _line(
        "-k -t -o -S -T --key --output --field-separator --compress-program", "-o=--output"
    ),
    "tee": _line("", "-a=--append"),
    "find": _line(
        "-name -iname -path -ipath -regex -iregex -type -size -mtime -mmin -newer "
        "-maxdepth -mindepth -perm -user -group -fprint -fprintf -fls -printf -lname "
        "-wholename",
        single_dash=True,
        operands_first=True,
    ),
    "tar": _line(
        "-f -C -I -T -X --file --directory --exclude --to-command --checkpoint-action "
        "--use-compress-program --transform --checkpoint",
        "-f=--file -C=--directory -x=--extract -c=--create -I=--use-compress-program "
        "-P=--absolute-names",
    ),
    "dd": PLAIN,
    "unzip": _line("-d -P -x"),
    "curl": _line(
        "-o -d -H -X -u -A -b -c -e -F -T -x -m -K -w -r -C -E -D -y -Y -z -Q -P -U -t "
        "--output --output-dir --data --data-raw --data-binary --data-urlencode --data-ascii "
        "--json --header --request --user --user-agent --cookie --cookie-jar --referer --form "
        "--form-string --upload-file --proxy --max-time --config --write-out --range --cert --key "
        "--cacert --connect-timeout --retry --retry-delay --url --url-query --resolve --interface",
        "-o=--output -d=--data -H=--header -X=--request -u=--user -F=--form -T=--upload-file "
        "-L=--location -s=--silent -f=--fail -k=--insecure -I=--head -K=--config -b=--cookie",
    ),
    "wget": _line(
        "-O -o -P -U -i -t -T --output-document --output-file --directory-prefix --user-agent "
        "--input-file --post-data --post-file --body-data --body-file --header --method --tries",
        "-O=--output-document -q=--quiet -P=--directory-prefix",
    ),
    "http": PLAIN,
    "nc": _line("-p -w -s -e -c -q -i -X -x", "-e=--exec -l=--listen"),
    "ncat": _line("-p -w -s -e -c --exec --sh-exec", "-e=--exec -c=--sh-exec"),
    "scp": _line("-P -i -o -F -c -l -S -J -D"),
    "sftp": _line("-P -i -o -F -b -c -J"),
    "rsync": _line(
        "-e -f --rsh --exclude --include --files-from --rsync-path --filter --chmod "
        "--backup-dir --exclude-from",
        "-e=--rsh -a=--archive",
    ),
    "ssh": _line("-p -i -o -l -F -J -L -R -D -W -b -c -e -m -O -Q -S -w -B -E -I"),
    "pip": _PIP,
    "uv": _line(
        "--project --directory --config-file --python -p --cache-dir",
        "",
        "",
        {
            "add": _INSTALL,
            "run": _line("--with -p --python --extra --group --env-file"),
            "tool": PLAIN,
            "sync": _line("--extra --group -p --python"),
            "lock": PLAIN,
            "remove": _INSTALL,
            "venv": PLAIN,
            "build": PLAIN,
            "publish": PLAIN,
        },
    ),
    "pipx": _line("", "", "", {"install": _INSTALL, "run": _line("--spec --python")}),
    "poetry": _line(
        "-C -P --directory --project",
        "",
        "",
        {"add": _line("-G --group --source -E --extras", "-G=--group")},
    ),
    "npm": _line(
        "--prefix -C --registry",
        "",
        "",
        {
            "install": _NPM,
            "i": _NPM,
            "add": _NPM,
            "ci": PLAIN,
            "run": PLAIN,
            "test": PLAIN,
            "exec": PLAIN,
            "publish": _line("--tag --access --otp"),
        },
    ),
    "pnpm": _line("-C --dir --filter -F", "", "", {"install": _NPM, "add": _NPM, "i": _NPM}),
    "yarn": _line("--cwd", "", "", {"add": _NPM, "install": _NPM}),
    "bun": _line("--cwd", "", "", {"add": _NPM, "install": _NPM, "i": _NPM}),
    "cargo": _line(
        "--manifest-path -Z --color -C",
        "",
        "",
        {
            "add": _line("-F --features --git --branch --path --vers --rename"),
            "install": _line(
                "--version --vers --git --branch --tag --rev --path --root --features -F",
                "",
                "--locked",
            ),
            "test": _line("-p --package --features --target"),
        },
    ),
    "go": _line(
        "-C",
        "",
        "",
        {
            name: _line("-run -count -timeout -tags -o -C -p -bench", single_dash=True)
            for name in ("test", "build", "run", "get", "install", "mod", "vet", "generate")
        },
    ),
    "gem": _line("", "", "", {"install": _line("-v --version -i --install-dir", "-v=--version")}),
    "apt": _line("-o -t -c", "-y=--yes", "", {}),
    "apt-get": _line("-o -t -c", "-y=--yes", "", {}),
    "brew": _line("", "", "", {}),
    **dict.fromkeys(("conda", "mamba"), _line("-n -p -c", "", "", {})),
    "composer": _line("-d", "", "", {}),
    "dotnet": _line("", "", "", {}),
    "docker": _line("-H -c --host --context --config -l", "", "", {}),
    "kubectl": _line("-n --namespace --context --kubeconfig -l -o -f", "", "", {}),
    "gh": _line("-R --repo", "", "", {}),
    "terraform": _line("", "", "", {}, single_dash=True),
    "make": _line(
        "-C -f -j -I -o -W --directory --file --makefile --eval",
        "-C=--directory -f=--file -n=--just-print -i=--ignore-errors -t=--touch -q=--question",
    ),
    "just": _line("-f -d --justfile --working-directory", "", "", {}),
    "pytest": _line(
        "-k -m -p -c -n -o --maxfail --rootdir --deselect --ignore --junitxml --cov "
        "--timeout --tb --durations -W",
        "-x=--exitfirst",
    ),
    "python": _line("-c -m -W -X --check-hash-based-pycs"),
    "node": _line(
        "-e -p -r --eval --print --require --import --loader", "-e=--eval -p=--print -r=--require"
    ),
    "perl": _line("-e -E -I -M -m -0"),
    "ruby": _line("-e -I -r -C"),
    "php": _line("-r -d -f -S -t"),
    "env": PLAIN,
    "cd": PLAIN,
}
OTHER_NAMES: Final = {
    **dict.fromkeys(("gawk", "mawk", "nawk"), "awk"),
    **dict.fromkeys(("egrep", "fgrep", "zgrep"), "grep"),
    **dict.fromkeys(("pip3", "pip2"), "pip"),
    **dict.fromkeys(("py", "pypy", "pypy3"), "python"),
    **dict.fromkeys(("netcat", "nc.openbsd", "nc.traditional"), "nc"),
    "nodejs": "node",
    "gsed": "sed",
    "grm": "rm",
    ".": "source",
    "py.test": "pytest",
}
"""Programs with several names. The entry has the name on the right."""
