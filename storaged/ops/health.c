/* A state and who wants to know of it. */
#include "ops/health.h"

static void tell(struct sirix_health *health)
{
    if (health->changed != NULL) {
        health->changed(health->context, health->state != SIRIX_HEALTH_DRAINING,
                        health->state == SIRIX_HEALTH_SERVING);
    }
}

void sirix_health_init(struct sirix_health *health, sirix_health_changed_fn changed, void *context)
{
    *health = (struct sirix_health){
        .state = SIRIX_HEALTH_STARTING, .changed = changed, .context = context};
    (void)pthread_mutex_init(&health->mutex, NULL);
    tell(health);
}

void sirix_health_deinit(struct sirix_health *health)
{
    (void)pthread_mutex_destroy(&health->mutex);
}

void sirix_health_set(struct sirix_health *health, enum sirix_health_state state)
{
    (void)pthread_mutex_lock(&health->mutex);
    if (health->state != SIRIX_HEALTH_DRAINING && health->state != state) {
        health->state = state;
        tell(health);
    }
    (void)pthread_mutex_unlock(&health->mutex);
}

enum sirix_health_state sirix_health_get(struct sirix_health *health)
{
    (void)pthread_mutex_lock(&health->mutex);
    enum sirix_health_state state = health->state;
    (void)pthread_mutex_unlock(&health->mutex);
    return state;
}
