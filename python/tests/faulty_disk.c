/*
 * A disk that fails, for LD_PRELOAD: counts what changes files under one directory, and does
 * something else in place of the N-th change.
 *
 *   cc -shared -fPIC -O1 -o faulty_disk.so faulty_disk.c -ldl
 *
 * Nothing happens until faulty_disk() names the directory, so that a process can load what it needs
 * first. Files are known by what /proc says of their descriptors.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What becomes of a change. */
enum how {
    WORKS = 0,
    FAILS = 'e',  /* EIO, once */
    FULL = 'f',   /* ENOSPC, this one and all later ones that need room */
    SHORT = 's',  /* a write takes half of its bytes, and says so */
    TORN = 't',   /* a write takes half of its bytes, another change all; then the process dies */
    DIES = 'd',   /* the process dies before the change */
    POWER = 'p',  /* the change is done; then what was never forced to the disk is gone, and all */
};

/* What kinds of changes there were, in their order: one letter each. */
enum { OPEN = 'o', WRITE = 'w', SYNC = 'y', RENAME = 'r', CUT = 'c', MAKE = 'm', REMOVE = 'u' };

#define MOST 100000
#define FILES 4096

static char root[PATH_MAX];
static size_t root_length;
static long wanted;
static enum how fault;
static atomic_long count;
static atomic_int full;
static char kinds[MOST + 1];

/* Files written to, with what of them is on the disk for sure. */
static struct written {
    dev_t device;
    ino_t inode;
    off_t kept;
} written[FILES];
static atomic_int files;

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

void faulty_disk(const char *directory, long at, int how)
{
    snprintf(root, sizeof root, "%s", directory);
    wanted = at;
    fault = (enum how)how;
    root_length = strlen(root);
}

/* The kinds of changes so far. */
const char *faulty_disk_kinds(void)
{
    return kinds;
}

static int is_under(const char *path)
{
    return root_length && !strncmp(path, root, root_length)
        && (path[root_length] == '/' || !path[root_length]);
}

static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0;
}

/* A name as calls with a directory's descriptor have it, made absolute. */
static void whole_path(int dir, const char *name, char *path)
{
    char folder[PATH_MAX];
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return;
    }
    if (dir == AT_FDCWD) {
        if (!getcwd(folder, sizeof folder)) folder[0] = 0;
    } else {
        path_of(dir, folder);
    }
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX) path[0] = 0;
}

static int is_under_at(int dir, const char *name)
{
    char path[PATH_MAX];
    if (!root_length) return 0;
    whole_path(dir, name, path);
    return is_under(path);
}

static int is_open_under(int fd)
{
    char path[PATH_MAX];
    return root_length && path_of(fd, path) && is_under(path);
}

static struct written *find(const struct stat *about)
{
    for (int i = 0; i < files; i++)
        if (written[i].inode == about->st_ino && written[i].device == about->st_dev)
            return &written[i];
    return NULL;
}

/* The file is about to be written to: what it has now stays. */
static void remember(int fd)
{
    struct stat about;
    struct written *file;
    if (fstat(fd, &about) || !S_ISREG(about.st_mode)) return;
    if ((file = find(&about))) {
        /* It was cut, or is another one by now. */
        if (about.st_size < file->kept) file->kept = about.st_size;
    } else if (files < FILES) {
        written[files++] = (struct written){about.st_dev, about.st_ino, about.st_size};
    }
}

static void synced(int fd)
{
    struct stat about;
    struct written *file;
    if (!fstat(fd, &about) && (file = find(&about))) file->kept = about.st_size;
}

static int forget(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    struct written *file = type == FTW_F ? find(about) : NULL;
    (void)walk;
    if (file && about->st_size > file->kept && truncate(path, file->kept)) perror(path);
    return 0;
}

static void die(void)
{
    if (fault == POWER) {
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%s", root);
        root_length = 0;
        nftw(folder, forget, 16, FTW_PHYS);
    }
    _exit(137);
}

/* Counts a change, and says what is to become of it. */
static enum how next(char kind)
{
    long now = atomic_fetch_add(&count, 1) + 1;
    if (now <= MOST) kinds[now - 1] = kind;
    if (full && kind != REMOVE && kind != RENAME) return FULL;
    if (now != wanted) return WORKS;
    if (fault == DIES) die();
    if (fault == FULL) full = 1;
    return fault;
}

static int fails(enum how how)
{
    errno = how == FULL ? ENOSPC : EIO;
    return how == FULL || how == FAILS;
}

static void dies_after(enum how how)
{
    if (how == TORN || how == POWER) die();
}

/* A change that is done whole or not at all. */
#define CHANGE(kind, under, call) \
    do { \
        if (!(under)) return call; \
        enum how how_ = next(kind); \
        if (fails(how_)) return -1; \
        __typeof__(call) done_ = call; \
        dies_after(how_); \
        return done_; \
    } while (0)

#define WRITES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & O_CREAT))

#define OPENED(dir, path, flags, call) \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    CHANGE(OPEN, WRITES(flags) && is_under_at(dir, path), call)

int open(const char *path, int flags, ...)
{
    REAL(open);
    OPENED(AT_FDCWD, path, flags, real(path, flags, mode));
}

int open64(const char *path, int flags, ...)
{
    REAL(open64);
    OPENED(AT_FDCWD, path, flags, real(path, flags, mode));
}

int openat(int dir, const char *path, int flags, ...)
{
    REAL(openat);
    OPENED(dir, path, flags, real(dir, path, flags, mode));
}

int openat64(int dir, const char *path, int flags, ...)
{
    REAL(openat64);
    OPENED(dir, path, flags, real(dir, path, flags, mode));
}

/* As many bytes as a write takes in place of `size`. */
static size_t part(enum how how, size_t size)
{
    return how == SHORT || how == TORN ? (size + 1) / 2 : size;
}

#define WRITTEN(fd, size, call) \
    do { \
        size_t all = size; \
        if (!is_open_under(fd)) return call; \
        remember(fd); \
        enum how how_ = next(WRITE); \
        if (fails(how_)) return -1; \
        all = part(how_, all); \
        ssize_t done_ = call; \
        dies_after(how_); \
        return done_; \
    } while (0)

ssize_t write(int fd, const void *bytes, size_t size)
{
    REAL(write);
    WRITTEN(fd, size, real(fd, bytes, all));
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
    REAL(pwrite);
    WRITTEN(fd, size, real(fd, bytes, all, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at)
{
    REAL(pwrite64);
    WRITTEN(fd, size, real(fd, bytes, all, at));
}

/* Of several buffers a part is the first ones. */
ssize_t writev(int fd, const struct iovec *buffers, int number)
{
    REAL(writev);
    WRITTEN(fd, (size_t)number, real(fd, buffers, (int)all));
}

int fsync(int fd)
{
    REAL(fsync);
    if (!is_open_under(fd)) return real(fd);
    enum how how = next(SYNC);
    if (fails(how)) return -1;
    /* What is on the disk for sure is kept in mind here; waiting for the true one adds nothing. */
    synced(fd);
    dies_after(how);
    return 0;
}

int fdatasync(int fd)
{
    return fsync(fd);
}

int ftruncate(int fd, off_t size)
{
    REAL(ftruncate);
    CHANGE(CUT, is_open_under(fd), real(fd, size));
}

int ftruncate64(int fd, off64_t size)
{
    REAL(ftruncate64);
    CHANGE(CUT, is_open_under(fd), real(fd, size));
}

int rename(const char *from, const char *to)
{
    REAL(rename);
    CHANGE(RENAME, is_under_at(AT_FDCWD, to), real(from, to));
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    REAL(renameat);
    CHANGE(RENAME, is_under_at(to_dir, to), real(from_dir, from, to_dir, to));
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
    REAL(renameat2);
    CHANGE(RENAME, is_under_at(to_dir, to), real(from_dir, from, to_dir, to, flags));
}

int mkdir(const char *path, mode_t mode)
{
    REAL(mkdir);
    CHANGE(MAKE, is_under_at(AT_FDCWD, path), real(path, mode));
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    REAL(mkdirat);
    CHANGE(MAKE, is_under_at(dir, path), real(dir, path, mode));
}

int unlink(const char *path)
{
    REAL(unlink);
    CHANGE(REMOVE, is_under_at(AT_FDCWD, path), real(path));
}

int unlinkat(int dir, const char *path, int flags)
{
    REAL(unlinkat);
    CHANGE(REMOVE, is_under_at(dir, path), real(dir, path, flags));
}

int rmdir(const char *path)
{
    REAL(rmdir);
    CHANGE(REMOVE, is_under_at(AT_FDCWD, path), real(path));
}
