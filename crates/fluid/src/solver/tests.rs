use super::*;

/// Three XCP links in a row with twelve flows, of which eight join late: with and without short
/// cuts the windows are the same to what a byte of queue makes.
#[test]
fn short_cuts_lead_to_the_same_place() {
    let mut text =
        "schema = 1\nname = \"short\"\nduration = \"60s\"\n[fluid]\nstep = \"5ms\"\n".to_owned();
    for (from, to, rate) in [("a", "b", 30), ("b", "c", 20), ("c", "d", 40)] {
        text += &format!(
            "[links.{from}]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}Mbps\"\nowd = \"3ms\"\n\
             queue = \"xcp\"\nduplex = true\n"
        );
    }
    for (name, from, to, start) in [("f", "a", "d", 0), ("g", "b", "c", 6), ("h", "c", "d", 3)] {
        text += &format!(
            "[flows.{name}]\nprotocol = \"xcp\"\ncount = 4\nfrom = \"{from}\"\nto = \"{to}\"\n\
             rtt = [\"31ms\", \"57ms\", \"90ms\", \"123ms\"]\nstart = \"{start}s\"\n"
        );
    }
    let scenario = scenario::parse("test", &text, &[]).expect("a scenario").scenario;
    let run = |quick: bool| {
        let model = Model::of(&scenario, 1, 0).expect("a fluid form");
        let mut solver = Solver::new(&scenario, model);
        if !quick {
            solver.quick = Quick::default();
        }
        let mut rested = 0;
        while solver.step() {
            let newest = solver.nodes.newest();
            let step = Step { to_s: solver.now, h_s: solver.h, r: 0.5, newest };
            rested += (0..12).filter(|&i| solver.quick.rests(i, &step)).count();
        }
        (solver.states, rested)
    };
    let ((long, never), (short, rested)) = (run(false), run(true));
    assert!(never == 0 && rested > 10_000, "{rested}");
    for (a, b) in long.iter().zip(&short) {
        for (a, b) in [(a.w, b.w), (a.sent, b.sent), (a.delivered, b.delivered)] {
            assert!((a - b).abs() < 1e-3 * b, "{a} {b}");
        }
    }
}
