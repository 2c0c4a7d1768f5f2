/* Asks a compiled module what it is, in a process of its own: `ask MODULE.so` writes words, each closed
 * by a zero byte. Before it calls the module it writes what it calls.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* Seconds of processor time that the module may take. */
#define LIMIT 5
/* How many hooks there are, each a bit of what is told of them. */
#define HOOKS 12

static void *module;

static void *function(const char *name)
{
	void *found = dlsym(module, name);

	if (!found) {
		fprintf(stderr, "no %s\n", name);
		exit(1);
	}
	return found;
}

static void word(const char *text)
{
	fputs(text, stdout);
	putchar(0);
	fflush(stdout);
}

static void number(long value)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", value);
	word(text);
}

static void ask_params(void)
{
	unsigned int (*count)(void) = function("cclab_params_count");
	const char *(*name)(unsigned int, const char **, const char **, long *) =
		function("cclab_param_name");
	int (*get)(unsigned int, char *) = function("cclab_param_get");

	for (unsigned int i = 0; i < count(); i++) {
		const char *type, *meaning, *called;
		char value[4096] = "";
		long line;

		called = name(i, &type, &meaning, &line);
		word("param");
		number(line);
		word(called);
		word(type);
		word(meaning);
		word(get(i, value) < 0 ? "" : value);
	}
}

static void ask_ops(void)
{
	int (*begin)(void *) = function("cclab_begin");
	void (*hooks)(const void *, void *[]) = function("cclab_hooks");
	const char *(*name)(const void *, unsigned int *) = function("cclab_name");
	_Bool (*echoes)(const void *) = function("cclab_echoes");
	struct {
		const void *ops;
		const char *lacking;
		int registrations;
	} told;
	void *there[HOOKS];
	unsigned int flags;
	long bits = 0;
	int said = begin(&told);

	word("registered");
	number(told.registrations);
	word(told.lacking);
	number(said);
	if (!told.ops || *told.lacking || said < 0)
		return;
	word("ops");
	word(name(told.ops, &flags));
	number(flags);
	hooks(told.ops, there);
	for (int i = 0; i < HOOKS; i++)
		bits |= (long)!!there[i] << i;
	number(bits);
	word("echoes");
	number(echoes(told.ops));
}

int main(int count, char **words)
{
	struct rlimit limit = { LIMIT, LIMIT };
	struct rlimit core = { 0, 0 };

	setrlimit(RLIMIT_CPU, &limit);
	setrlimit(RLIMIT_CORE, &core);
	module = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!module) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	ask_params();
	word("begin");
	ask_ops();
	word("end");
	return 0;
}
