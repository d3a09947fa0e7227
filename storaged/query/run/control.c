/* Choices and loops without a clause: if, switch, typeswitch, try, quantified, the simple map, treat as. */
#include "query/run/run.h"

static enum sirix_status choose(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_sink *sink, struct sirix_query_error *err)
{
    const uint32_t last = plan->child_count - 1;

    for (uint32_t i = 0; i < last; i += 2) {
        bool truth = false;
        enum sirix_status status = sirix_run_truth(run, plan->children[i], &truth, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (truth) {
            return sirix_run_push(run, plan->children[i + 1], sink, err);
        }
    }
    return sirix_run_push(run, plan->children[last], sink, err);
}

/* One atomic item or none: what switch compares. */
static enum sirix_status switch_operand(struct sirix_run *run, const struct sirix_plan *plan,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_run_one(run, plan, out, err);

    if (status == SIRIX_OK && out->kind != SIRIX_ITEM_NONE && !sirix_item_is_atomic(*out)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNTY0004",
                                   "switch compares atomic values, not %s",
                                   sirix_type_name((enum sirix_type)out->type));
    }
    return status;
}

static enum sirix_status switch_case(struct sirix_run *run, const struct sirix_plan *option,
                                     struct sirix_item operand, bool *out_matches,
                                     struct sirix_query_error *err)
{
    *out_matches = false;
    for (uint32_t i = 0; i + 1 < option->child_count && !*out_matches; i++) {
        struct sirix_item value = {0};
        enum sirix_status status = switch_operand(run, option->children[i], &value, err);

        if (status != SIRIX_OK) {
            return status;
        }
        *out_matches = sirix_item_same(&run->work, operand, value);
    }
    return SIRIX_OK;
}

static enum sirix_status switch_on(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, struct sirix_query_error *err)
{
    const uint32_t last = plan->child_count - 1;
    struct sirix_item operand = {0};
    enum sirix_status status = switch_operand(run, plan->children[0], &operand, err);

    for (uint32_t i = 1; i < last && status == SIRIX_OK; i++) {
        const struct sirix_plan *option = plan->children[i];
        bool matches = false;

        status = switch_case(run, option, operand, &matches, err);
        if (status == SIRIX_OK && matches) {
            return sirix_run_push(run, option->children[option->child_count - 1], sink, err);
        }
    }
    return status == SIRIX_OK ? sirix_run_push(run, plan->children[last], sink, err) : status;
}

/* Whether a value is of one of a case's types; a default has none and takes all. */
static enum sirix_status is_of_case(struct sirix_run *run, const struct sirix_plan *option,
                                    const struct sirix_sequence *value, bool *out,
                                    struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *out = option->list_count == 0;
    for (uint32_t i = 0; i < option->list_count && status == SIRIX_OK && !*out; i++) {
        status = sirix_sequence_matches(&run->work, value, &option->types[i], out, err);
    }
    return status;
}

static enum sirix_status typeswitch(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, plan->children[0], &value, err);

    for (uint32_t i = 1; i < plan->child_count && status == SIRIX_OK; i++) {
        const struct sirix_plan *option = plan->children[i];
        bool matches = false;

        status = is_of_case(run, option, &value, &matches, err);
        if (status == SIRIX_OK && matches && option->slot != SIRIX_PLAN_NO_SLOT) {
            sirix_slot_set(&run->frame[option->slot], &value);
        }
        if (status == SIRIX_OK && matches) {
            return sirix_run_push(run, option->children[0], sink, err);
        }
    }
    return status;
}

/* --- try ------------------------------------------------------------------------------------------- */

static bool catches(const struct sirix_plan *handler, const struct sirix_query_error *error)
{
    const struct sirix_bytes code = {.data = error->code, .len = strlen(error->code)};
    const struct sirix_bytes ns = {.data = error->code_ns, .len = strlen(error->code_ns)};

    for (uint32_t i = 0; i < handler->list_count; i++) {
        const struct sirix_plan_catch *test = &handler->tests[i];

        if ((test->any_local || sirix_bytes_equal(test->local, code)) &&
            (test->any_uri || sirix_bytes_equal(test->uri, ns))) {
            return true;
        }
    }
    return false;
}

static enum sirix_status text_item(struct sirix_run *run, const char *text, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    return sirix_item_new_string(&run->work,
                                 (struct sirix_bytes){.data = text, .len = strlen(text)}, out, err);
}

static enum sirix_status code_item(struct sirix_run *run, const struct sirix_query_error *error,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    static const char standard[] = "http://www.w3.org/2005/xqt-errors";
    const bool own = error->code_ns[0] != '\0';
    struct sirix_item local = {0};
    struct sirix_item uri = {0};
    void *memory = NULL;
    enum sirix_status status = text_item(run, error->code, &local, err);

    if (status == SIRIX_OK) {
        status = text_item(run, own ? error->code_ns : standard, &uri, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_arena_alloc(run->work.arena, sizeof(struct sirix_qname), &memory, &err->base);
    }
    if (status == SIRIX_OK) {
        struct sirix_qname *qname = memory;

        *qname = (struct sirix_qname){.uri = sirix_item_bytes(uri),
                                      .prefix = {.data = "err", .len = own ? 0 : 3},
                                      .local = sirix_item_bytes(local)};
        *out = (struct sirix_item){
            .kind = SIRIX_ITEM_QNAME, .type = SIRIX_TYPE_QNAME, .value.qname = qname};
    }
    return status;
}

/* $err:code, description, value, module, line-number, column-number: six slots in that order. */
static enum sirix_status bind_error(struct sirix_run *run, uint32_t slot,
                                    const struct sirix_query_error *error,
                                    struct sirix_query_error *err)
{
    struct sirix_slot *slots = &run->frame[slot];
    const struct sirix_sequence none = {0};
    struct sirix_item code = {0};
    struct sirix_item description = {0};
    enum sirix_status status = code_item(run, error, &code, err);

    if (status == SIRIX_OK) {
        status = text_item(run, error->base.text, &description, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_slot_set_item(&slots[0], &code);
    sirix_slot_set_item(&slots[1], &description);
    sirix_slot_set(&slots[2], error->value != NULL ? error->value : &none);
    sirix_slot_set(&slots[3], &none);
    const struct sirix_item line = sirix_item_integer(error->line);
    const struct sirix_item column = sirix_item_integer(error->column);
    sirix_slot_set_item(&slots[4], &line);
    sirix_slot_set_item(&slots[5], &column);
    return SIRIX_OK;
}

/* Everything is evaluated before anything is given on: a failure of what comes later is not ours. */
static enum sirix_status try_catch(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_slot *const frame = run->frame;
    const struct sirix_focus focus = run->focus;
    struct sirix_arena *const arena = run->work.arena;
    struct sirix_query_error *error = NULL;
    struct sirix_sequence value = {0};
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(arena, 1, sizeof(*error), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    error = memory;
    status = sirix_run_all(run, plan->children[0], &value, error);
    if (status == SIRIX_OK) {
        return sirix_run_give(run, &value, sink, err);
    }
    run->frame = frame;
    run->focus = focus;
    run->work.arena = arena;
    for (uint32_t i = 1;
         sirix_run_failed(status) && sirix_query_error_catchable(error) && i < plan->child_count;
         i++) {
        const struct sirix_plan *handler = plan->children[i];

        if (catches(handler, error)) {
            status = bind_error(run, handler->slot, error, err);
            return status == SIRIX_OK ? sirix_run_push(run, handler->children[0], sink, err)
                                      : status;
        }
    }
    *err = *error;
    return status;
}

/* --- some, every ----------------------------------------------------------------------------------- */

struct quantified_sink {
    struct sirix_sink sink;
    const struct sirix_plan *plan;
    uint32_t clause;
    bool *decided;
};

static enum sirix_status quantify(struct sirix_run *run, const struct sirix_plan *plan,
                                  uint32_t clause, bool *decided, struct sirix_query_error *err);

static enum sirix_status take_quantified(struct sirix_sink *sink, struct sirix_run *run,
                                         const struct sirix_item *item,
                                         struct sirix_query_error *err)
{
    struct quantified_sink *at = (struct quantified_sink *)sink;
    const struct sirix_plan *clause = at->plan->children[at->clause];
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    struct sirix_item bound = *item;
    const struct sirix_sequence value = sirix_sequence_of(&bound);
    enum sirix_status status = sirix_run_bind(run, clause, &run->frame[clause->slot], &value, err);

    if (status == SIRIX_OK) {
        status = quantify(run, at->plan, at->clause + 1, at->decided, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

static enum sirix_status quantify(struct sirix_run *run, const struct sirix_plan *plan,
                                  uint32_t clause, bool *decided, struct sirix_query_error *err)
{
    struct quantified_sink at = {.sink = {.take = take_quantified, .want = UINT64_MAX},
                                 .plan = plan,
                                 .clause = clause,
                                 .decided = decided};
    bool truth = false;
    enum sirix_status status = SIRIX_OK;

    if (clause + 1 < plan->child_count) {
        return sirix_run_for_items(run, plan->children[clause], &at.sink, err);
    }
    status = sirix_run_truth(run, plan->children[clause], &truth, err);
    if (status == SIRIX_OK && truth == (plan->kind == SIRIX_PLAN_SOME)) {
        *decided = true;
        return SIRIX_RUN_STOP;
    }
    return status;
}

enum sirix_status sirix_run_quantified(struct sirix_run *run, const struct sirix_plan *plan,
                                       bool *out, struct sirix_query_error *err)
{
    const uint64_t kept = run->kept;
    bool decided = false;
    enum sirix_status status = quantify(run, plan, 0, &decided, err);

    run->kept = kept;
    if (status == SIRIX_RUN_STOP && decided) {
        status = SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        *out = decided == (plan->kind == SIRIX_PLAN_SOME);
    }
    return status;
}

/* --- a ! b ----------------------------------------------------------------------------------------- */

struct map_sink {
    struct sirix_sink sink;
    const struct sirix_plan *plan;
    uint32_t at; /* The child that the items given here are the focus of. */
    uint64_t position;
    uint64_t last;
    struct sirix_scope *scope; /* To the outside. */
};

static enum sirix_status map_from(struct sirix_run *run, const struct sirix_plan *plan, uint32_t at,
                                  struct sirix_scope *scope, struct sirix_query_error *err);

static enum sirix_status take_map(struct sirix_sink *sink, struct sirix_run *run,
                                  const struct sirix_item *item, struct sirix_query_error *err)
{
    struct map_sink *map = (struct map_sink *)sink;
    const struct sirix_focus focus = run->focus;
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);

    map->position++;
    run->focus = (struct sirix_focus){.item = *item, .position = map->position, .last = map->last};
    enum sirix_status status = map_from(run, map->plan, map->at, map->scope, err);
    run->focus = focus;
    sirix_run_turn_end(run, &turn);
    return status;
}

/* Evaluates child `at` in the present focus; its items are the focus of the next one. */
static enum sirix_status map_from(struct sirix_run *run, const struct sirix_plan *plan, uint32_t at,
                                  struct sirix_scope *scope, struct sirix_query_error *err)
{
    struct map_sink map = {
        .sink = {.take = take_map, .want = UINT64_MAX}, .plan = plan, .at = at + 1, .scope = scope};
    struct sirix_sequence items = {0};
    enum sirix_status status = SIRIX_OK;

    if (at + 1 == plan->child_count) {
        return sirix_run_push(run, plan->children[at], &scope->sink, err);
    }
    if ((plan->children[at + 1]->flags & SIRIX_PLAN_USES_LAST) == 0) {
        return sirix_run_push(run, plan->children[at], &map.sink, err);
    }
    status = sirix_run_all(run, plan->children[at], &items, err);
    map.last = items.count;
    return status == SIRIX_OK ? sirix_run_give(run, &items, &map.sink, err) : status;
}

static enum sirix_status map(struct sirix_run *run, const struct sirix_plan *plan,
                             struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_scope scope;

    sirix_scope_init(&scope, run, sink);
    scope.sink.want = UINT64_MAX;
    return map_from(run, plan, 0, &scope, err);
}

static enum sirix_status treat_as(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    bool matches = false;
    char type[128];
    enum sirix_status status = sirix_run_all(run, plan->children[0], &value, err);

    if (status == SIRIX_OK) {
        status = sirix_sequence_matches(&run->work, &value, &plan->type, &matches, err);
    }
    if (status == SIRIX_OK && !matches) {
        sirix_sequence_type_show(&plan->type, type, sizeof(type));
        return sirix_query_fail_at(err, plan->line, plan->column, "XPDY0050",
                                   "the value is not of type %s", type);
    }
    return status == SIRIX_OK ? sirix_run_give(run, &value, sink, err) : status;
}

enum sirix_status sirix_run_control(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_sink *sink, struct sirix_query_error *err)
{
    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_IF:
        return choose(run, plan, sink, err);
    case SIRIX_PLAN_SWITCH:
        return switch_on(run, plan, sink, err);
    case SIRIX_PLAN_TYPESWITCH:
        return typeswitch(run, plan, sink, err);
    case SIRIX_PLAN_TRY:
        return try_catch(run, plan, sink, err);
    case SIRIX_PLAN_MAP:
        return map(run, plan, sink, err);
    default:
        return treat_as(run, plan, sink, err);
    }
}
