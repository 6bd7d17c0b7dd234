/*
 * The side of the plugin that includes Slurm's own headers (22.05; GPL-2.0-or-later with an exception for OpenSSL, see
 * docs/slurm.md), and the symbols that slurmctld looks for in a plugin.
 */

#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "slurm/slurm_errno.h"
#include "src/common/gres.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/state_save.h"

#include "rounds.h"
#include "slurm_side.h"

#define PLUGIN_SYMBOL __attribute__((visibility("default")))

PLUGIN_SYMBOL const char plugin_name[] = "goodput: elastic GPU jobs";
PLUGIN_SYMBOL const char plugin_type[] = "sched/goodput";
PLUGIN_SYMBOL const uint32_t plugin_version = SLURM_VERSION_NUMBER;

PLUGIN_SYMBOL int init(void) { return rounds_start() == 0 ? SLURM_SUCCESS : SLURM_ERROR; }
PLUGIN_SYMBOL void fini(void) { rounds_stop(); }
/* SchedulerParameters are read again every round. */
PLUGIN_SYMBOL int sched_p_reconfig(void) { return SLURM_SUCCESS; }

/* Whether a node has reported its GPUs to this slurmctld. Before that, slurmctld does not know the devices: a job that
 * is started earlier holds GPUs that it cannot see, and Slurm counts them wrongly when the job releases them. */
static bool has_registered(const node_record_t* record) {
    bool known = true;
    if (!record->gres_list) return known;
    ListIterator each = list_iterator_create(record->gres_list);
    const gres_state_t* gres = NULL;
    while ((gres = list_next(each))) {
        const gres_node_state_t* state = gres->gres_data;
        if (state && xstrcmp(gres->gres_name, "gpu") == 0)
            known = known && state->gres_cnt_found != NO_VAL64 && state->gres_bit_alloc;
    }
    list_iterator_destroy(each);
    return known;
}

static void tell_node(void* context, void (*node)(void*, const struct slurm_side_node*), const node_record_t* record) {
    const uint32_t base = record->node_state & NODE_STATE_BASE;
    const struct slurm_side_node told = {
        .name = record->name,
        .gres = record->gres ? record->gres : "",
        .up = (base == NODE_STATE_IDLE || base == NODE_STATE_MIXED || base == NODE_STATE_ALLOCATED) &&
              !IS_NODE_POWERED_DOWN(record) && !IS_NODE_REBOOT_ISSUED(record),
        .drained = IS_NODE_DRAIN(record),
        /* A node that is being asked counts as silent until it answers. */
        .answers = has_registered(record) &&
                   (!IS_NODE_NO_RESPOND(record) || time(NULL) < record->last_response + slurm_conf.slurmd_timeout / 2),
        .ending = IS_NODE_COMPLETING(record),
    };
    node(context, &told);
}

static const char* text(const char* given) { return given ? given : ""; }

static void tell_job(void* context, void (*job)(void*, const struct slurm_side_job*), const job_record_t* record) {
    if (!record->details || record->array_recs || record->het_job_id) return;
    if (IS_JOB_FINISHED(record) && !IS_JOB_COMPLETING(record)) return;
    /* After a restart Slurm does not know what a job holds until the nodes of the job have registered. */
    const bool unknown = IS_JOB_RUNNING(record) && record->gres_list_req && !record->gres_detail_cnt;
    struct slurm_side_job told = {
        .id = record->job_id,
        .state = unknown ? "" : job_state_string(record->job_state),
        .reason = job_reason_string(record->state_reason),
        .comment = text(record->comment),
        .admin_comment = text(record->admin_comment),
        .folder = text(record->details->work_dir),
        .tres_per_node = text(record->tres_per_node),
        .required_nodes = text(record->details->req_nodes),
        .nodes = text(record->nodes),
        .priority = record->priority,
        .submitted = record->details->submit_time,
        .started = record->start_time,
        .deadline = record->deadline,
        .restarts = record->restart_cnt,
    };
    const char** names = NULL;
    if (IS_JOB_RUNNING(record) && record->job_resrcs && record->job_resrcs->node_bitmap && record->gres_detail_cnt) {
        names = calloc(record->gres_detail_cnt, sizeof(*names));
        node_record_t* node = NULL;
        for (int i = 0; names && told.held_count < record->gres_detail_cnt && (node = next_node(&i)); ++i)
            if (bit_test(record->job_resrcs->node_bitmap, i)) names[told.held_count++] = node->name;
        told.held_nodes = names;
        told.held_gres = (const char* const*)record->gres_detail_str;
    }
    job(context, &told);
    free(names);
}

void slurm_side_read(void* context, void (*node)(void*, const struct slurm_side_node*),
                     void (*job)(void*, const struct slurm_side_job*)) {
    const slurmctld_lock_t read = {READ_LOCK, READ_LOCK, READ_LOCK, READ_LOCK, NO_LOCK};
    lock_slurmctld(read);
    const node_record_t* record = NULL;
    for (int i = 0; (record = next_node(&i)); ++i) tell_node(context, node, record);
    ListIterator each = list_iterator_create(job_list);
    const job_record_t* its = NULL;
    while ((its = list_next(each))) tell_job(context, job, its);
    list_iterator_destroy(each);
    unlock_slurmctld(read);
}

static const slurmctld_lock_t change = {READ_LOCK, WRITE_LOCK, WRITE_LOCK, READ_LOCK, READ_LOCK};

static const char* finish(int status) {
    unlock_slurmctld(change);
    if (status != SLURM_SUCCESS) return slurm_strerror(status);
    schedule_job_save();
    queue_job_scheduler();
    return NULL;
}

/* Makes the change that scontrol would request for one job. Fields that are not set stay as they are. */
static const char* update(job_desc_msg_t* wanted) {
    slurm_msg_t message;
    slurm_msg_t_init(&message);
    message.data = wanted;
    message.protocol_version = SLURM_PROTOCOL_VERSION;
    lock_slurmctld(change);
    return finish(update_job(&message, slurm_conf.slurm_user_id, false));
}

const char* slurm_side_hold(uint32_t job) {
    job_desc_msg_t wanted;
    slurm_init_job_desc_msg(&wanted);
    wanted.job_id = job;
    wanted.priority = 0;
    wanted.alloc_sid = ALLOC_SID_USER_HOLD;
    return update(&wanted);
}

const char* slurm_side_release(uint32_t job) {
    job_desc_msg_t wanted;
    slurm_init_job_desc_msg(&wanted);
    wanted.job_id = job;
    wanted.priority = INFINITE;
    return update(&wanted);
}

const char* slurm_side_start_now(uint32_t job) {
    job_desc_msg_t wanted;
    slurm_init_job_desc_msg(&wanted);
    wanted.job_id = job;
    wanted.begin_time = time(NULL);
    return update(&wanted);
}

/* update_job() takes over some of the texts and frees them, and leaves others to its caller. */
static void free_what_is_left(job_desc_msg_t* wanted) {
    xfree(wanted->admin_comment);
    xfree(wanted->req_nodes);
    xfree(wanted->tres_per_node);
}

const char* slurm_side_note(uint32_t job, const char* admin_comment) {
    job_desc_msg_t wanted;
    slurm_init_job_desc_msg(&wanted);
    wanted.job_id = job;
    wanted.admin_comment = xstrdup(admin_comment);
    const char* refused = update(&wanted);
    free_what_is_left(&wanted);
    return refused;
}

const char* slurm_side_ask(uint32_t job, const char* nodes, uint32_t count, const char* tres_per_node) {
    job_desc_msg_t wanted;
    slurm_init_job_desc_msg(&wanted);
    wanted.job_id = job;
    wanted.min_nodes = wanted.max_nodes = wanted.num_tasks = wanted.min_cpus = count;
    wanted.req_nodes = xstrdup(nodes);
    wanted.tres_per_node = xstrdup(tres_per_node);
    wanted.begin_time = time(NULL); /* a requeued job would wait two minutes */
    const char* refused = update(&wanted);
    free_what_is_left(&wanted);
    return refused;
}

const char* slurm_side_requeue_held(uint32_t job) {
    lock_slurmctld(change);
    /* With JOB_RUNNING, a job that has completed meanwhile is not changed. */
    return finish(job_requeue(slurm_conf.slurm_user_id, job, NULL, false, JOB_RUNNING | JOB_REQUEUE_HOLD));
}

void slurm_side_save(void) {
    if (dump_all_job_state() != SLURM_SUCCESS) error("sched/goodput: the state of the jobs could not be saved");
}

char* slurm_side_text(const char* name) {
    const slurmctld_lock_t read = {READ_LOCK, NO_LOCK, NO_LOCK, NO_LOCK, NO_LOCK};
    char* found = NULL;
    lock_slurmctld(read);
    const size_t length = strlen(name);
    for (const char* at = slurm_conf.sched_params; at && *at; at += strcspn(at, ","), at += *at == ',') {
        if (strncmp(at, name, length) != 0 || at[length] != '=') continue;
        at += length + 1;
        found = strndup(at, strcspn(at, ","));
        break;
    }
    unlock_slurmctld(read);
    return found;
}

double slurm_side_number(const char* name, double usual) {
    char* given = slurm_side_text(name);
    char* end = NULL;
    const double number = given ? strtod(given, &end) : usual;
    const bool good = given && end != given && *end == '\0' && number > 0 && number < 1e9;
    free(given);
    return good ? number : usual;
}

void slurm_side_log(const char* words) { info("sched/goodput: %s", words); }
