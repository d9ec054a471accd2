//! Particles in a periodic cube: what the molecular dynamics programs share.

/// Length of a time step.
const STEP: f32 = 1.0 / 1024.0;

/// From `other` to `own` by the shortest way in a cube of side `side`, and the square of its length.
pub fn apart(own: [f32; 3], other: [f32; 3], side: f32) -> ([f32; 3], f32) {
    let way: [f32; 3] = std::array::from_fn(|axis| {
        let d = own[axis] - other[axis];
        if d > side / 2.0 {
            d - side
        } else if d < -side / 2.0 {
            d + side
        } else {
            d
        }
    });
    (way, way[0] * way[0] + way[1] * way[1] + way[2] * way[2])
}

/// Place and velocity along an axis after a time step under a force.
pub fn moved(place: f32, velocity: f32, force: f32) -> (f32, f32) {
    let velocity = velocity + force * STEP;
    (place + velocity * STEP, velocity)
}
