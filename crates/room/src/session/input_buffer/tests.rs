//! The steps of a client, over a network with arbitrary delays.

use super::*;

const WALK: Input = Input { forward: 1.0, right: 0.0, yaw: 0.0, run: false, jump: false };
const STAND: Input = Input { forward: 0.0, ..WALK };

/// A client that reports its input in every second step, over a network with arbitrary delays.
struct Play {
    input_buffer: InputBuffer,
    /// The client's input at each of its steps.
    script: fn(u16) -> Input,
    /// The walker's steps: the client's steps in their order, with the input of each.
    walked: Vec<(u16, Input)>,
    input: Input,
    waits: u32,
    turns: Vec<DueStep>,
}

/// A start from which the step numbers wrap around during the test.
const START: u16 = u16::MAX - 200;

impl Play {
    fn new(script: fn(u16) -> Input) -> Self {
        let input_buffer = InputBuffer::default();
        Self { input_buffer, script, walked: Vec::new(), input: STAND, waits: 0, turns: Vec::new() }
    }

    /// Delivers the message that the client sent at its step `now`, with the changes of its last 90 steps.
    fn hear(&mut self, now: u16) -> BufferedInput {
        let input = |step: u16| (self.script)(step);
        let first = now.saturating_sub(90);
        let changes = (first..=now).filter(|step| *step == first || input(*step) != input(step - 1));
        let changes: Vec<Change> = changes.map(|step| at(step.wrapping_add(START), input(step))).collect();
        self.input_buffer.receive(now.wrapping_add(START), changes.into_iter())
    }

    fn turn(&mut self) {
        let Some(turn) = self.input_buffer.take(|| true) else { return };
        self.turns.push(turn);
        match turn {
            DueStep::Steps { number, input, first } => {
                if let Some(first) = first {
                    self.walked.push((number.wrapping_sub(1), first));
                }
                self.input = input.unwrap_or(self.input);
                self.walked.push((number, self.input));
            }
            DueStep::Waits { .. } => self.waits += 1,
            DueStep::GivesUp { input, .. } => self.input = input.unwrap_or(self.input),
        }
    }

    /// Lets the client take steps up to `until`. `delay` returns the number of steps for which a message is in transit.
    fn run(&mut self, until: u16, delay: impl Fn(u16) -> u16) {
        for world in 0..until + 40 {
            // Messages do not overtake one another.
            for sent in (0..=world.min(until)).step_by(2) {
                if sent + delay(sent) == world {
                    self.hear(sent);
                }
            }
            self.turn();
        }
    }

    /// Checks that every step was taken once, in its order, with its input. The input before the client's first step is
    /// unknown.
    fn check(&self, of: &str) {
        for (step, input) in self.walked.iter().filter(|(step, _)| step.wrapping_sub(START) < 60_000) {
            assert_eq!(*input, (self.script)(step.wrapping_sub(START)), "{of}, step {step}");
        }
        let numbers: Vec<u16> = self.walked.iter().map(|(step, _)| *step).collect();
        assert!(numbers.windows(2).all(|pair| apart(pair[1], pair[0]) == 1), "{of}: {numbers:?}");
    }

    /// Returns the newest step of the client that was taken.
    fn came_to(&self) -> u16 {
        self.walked.last().expect("the walker has taken a step").0.wrapping_sub(START)
    }
}

/// A xorshift generator of random numbers (Marsaglia, 2003).
struct Random(u32);

impl Random {
    fn below(&mut self, limit: u16) -> u16 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        ((self.0 >> 8) % u32::from(limit)) as u16
    }
}

fn at(step: u16, input: Input) -> Change {
    Change { step, input }
}

/// Input that walks to and fro, with pauses.
fn pacing(step: u16) -> Input {
    match step / 40 % 4 {
        0 => STAND,
        1 => WALK,
        2 => Input { yaw: 2.0, ..WALK },
        _ => Input { right: 1.0, run: true, ..WALK },
    }
}

/// Input that turns in each step, as with a mouse.
fn looking_about(step: u16) -> Input {
    Input { yaw: f32::from(step % 97) / 20.0, ..WALK }
}

/// Delays of a TCP stream after a loss: nothing arrives for a while, then everything at once.
fn stalls(sent: u16) -> u16 {
    6 + if sent % 150 >= 130 { 150 - sent % 150 } else { 0 }
}

#[test]
fn every_step_of_the_client_is_taken_once_with_its_input_over_any_network() {
    let delays: [fn(u16) -> u16; 4] = [|_| 6, |sent| 6 + sent % 6 / 2, stalls, |sent| 3 + stalls(sent)];
    for (index, delay) in delays.into_iter().enumerate() {
        let mut play = Play::new(pacing);
        play.run(1_220, delay);
        play.check(&format!("delay {index}"));
        assert!(play.came_to() > 1_170, "delay {index}: it came to step {}", play.came_to());
    }
}

#[test]
fn a_burst_that_is_a_second_late_is_taken_step_by_step() {
    for seed in 1..40 {
        let mut random = Random(seed);
        let mut late = vec![6_u16; 3_000];
        let mut at = 100_usize;
        while at < 2_500 {
            // A stream stalls: messages sent during the stall arrive at its end.
            let stall = 1 + random.below(PATIENCE_STEPS as u16);
            for sent in 0..stall {
                late[at + usize::from(sent)] = 6 + stall - sent;
            }
            at += usize::from(stall + random.below(150));
        }
        let mut play = Play::new(if seed % 2 == 0 { pacing } else { looking_about });
        play.run(2_900, |sent| late[usize::from(sent)]);
        let gave_up = play.turns.iter().filter(|turn| matches!(turn, DueStep::GivesUp { .. })).count();
        assert_eq!(gave_up, 0, "seed {seed}");
        play.check(&format!("seed {seed}"));
        assert!(play.came_to() > 2_820, "seed {seed}: it came to step {}", play.came_to());
    }
}

#[test]
fn a_start_up_to_a_second_late_is_taken_in_its_place_and_made_up_later() {
    let mut play = Play::new(|step| if step < 200 { STAND } else { WALK });
    play.run(900, |sent| if (200..250).contains(&sent) { 256 - sent } else { 6 });
    let set_off = play.walked.iter().filter(|(_, input)| *input == WALK).map(|(step, _)| *step);
    let walked: Vec<u16> = set_off.collect();
    assert_eq!(walked[0], 200_u16.wrapping_add(START));
    assert!(walked.windows(2).all(|pair| apart(pair[1], pair[0]) == 1), "{walked:?}");
    assert!(play.came_to() > 880, "the walker came to step {}", play.came_to());
}

#[test]
fn steps_that_the_world_left_out_are_made_up_for() {
    let mut play = Play::new(looking_about);
    for now in 0..1_200_u16 {
        if now % 2 == 0 {
            play.hear(now);
        }
        // The machine was delayed three times.
        match now {
            100..115 | 300..310 | 320..335 => {}
            115 | 310 | 335 => {
                play.input_buffer.leave_out(if now == 310 { 10 } else { 15 });
                play.turn();
            }
            _ => play.turn(),
        }
    }
    play.check("held up");
    assert!(play.came_to() >= 1_190, "the walker came to step {}", play.came_to());
    let strides =
        play.turns.iter().filter(|turn| matches!(turn, DueStep::Steps { first: Some(_), .. })).count();
    assert!((30..=40).contains(&strides), "{strides} strides");
}

#[test]
fn no_client_walks_more_steps_than_time_passed_whatever_it_reports() {
    for seed in 1..120 {
        let mut random = Random(seed);
        let mut input_buffer = InputBuffer::default();
        let (mut walked, mut number, mut input) = (0_u32, 0_u16, STAND);
        for turn in 1..=4_000_u32 {
            if random.below(1 + seed as u16 % 40) == 0 {
                number = match random.below(12) {
                    0 => number.wrapping_add(random.below(140)),
                    1 => number.wrapping_sub(random.below(140)),
                    _ => number.wrapping_add(random.below(6)),
                };
                let controls = if random.below(80) < 1 + seed as u16 % 30 { STAND } else { WALK };
                let step = number.wrapping_sub(random.below(90));
                input_buffer.receive(number, [at(step, controls)].into_iter());
            }
            match input_buffer.take(|| true) {
                Some(DueStep::Steps { input: new, first, .. }) => {
                    walked += first.map_or(0, |first| u32::from(!is_standing(&first)));
                    input = new.unwrap_or(input);
                    walked += u32::from(!is_standing(&input));
                }
                Some(DueStep::GivesUp { input: new, .. }) => input = new.unwrap_or(input),
                _ => {}
            }
            assert!(walked <= turn, "seed {seed}: {walked} steps in {turn}");
            assert!(input_buffer.waiting.len() <= CHANGES_MAX);
        }
    }
}

#[test]
fn missed_steps_are_made_up_gradually_and_never_exceeded() {
    let mut play = Play::new(|_| WALK);
    play.run(1_000, |sent| if (100..124).contains(&sent) { 124 - sent + 6 } else { 6 });
    let waits = play.turns[..900].iter().filter(|turn| matches!(turn, DueStep::Waits { .. })).count();
    assert!((15..30).contains(&waits), "{waits} waits");
    let strides: Vec<usize> = (0..play.turns.len())
        .filter(|at| matches!(play.turns[*at], DueStep::Steps { first: Some(_), .. }))
        .collect();
    assert!(!strides.is_empty() && strides.len() <= waits, "{} strides", strides.len());
    assert!(strides.windows(2).all(|pair| pair[1] - pair[0] >= STRIDE_EVERY_STEPS as usize));
}

#[test]
fn the_walker_of_a_silent_client_waits_for_a_second_and_then_stands_still() {
    let mut play = Play::new(|_| WALK);
    play.hear(0);
    play.turns.clear();
    for _ in 0..100 {
        play.turn();
    }
    let waits = play.turns.iter().filter(|turn| matches!(turn, DueStep::Waits { .. })).count();
    assert_eq!(waits as u32, PATIENCE_STEPS);
    assert_eq!(play.input, STAND);
    // The client's key is still down. The walker continues when messages arrive again, although the input does not change.
    play.hear(100);
    for _ in 0..WAIT_STEPS {
        play.turn();
    }
    assert_eq!(play.input, WALK);
}

#[test]
fn a_resting_client_is_not_waited_for_and_its_late_first_step_is_taken_in_place() {
    let mut play = Play::new(|step| if step < 200 { STAND } else { WALK });
    for sent in (0..=100).step_by(2) {
        play.hear(sent);
        play.turn();
        play.turn();
    }
    // No message arrives for two seconds. A client that stands still sends none.
    (0..120).for_each(|_| play.turn());
    assert_eq!(play.waits, 0);
    assert_eq!(play.hear(204), BufferedInput::default());
    play.turn();
    assert_eq!(play.walked.last(), Some(&(200_u16.wrapping_add(START), WALK)));
}

#[test]
fn a_clock_that_runs_too_fast_moves_no_walker_further_than_time_allows() {
    let mut input_buffer = InputBuffer::default();
    let (mut taken, mut elsewhere) = (0, 0);
    for world in 0..6_000_u32 {
        let now = (world * 5 / 4) as u16;
        elsewhere += u32::from(
            input_buffer
                .receive(now, [at(now, if now.is_multiple_of(2) { WALK } else { STAND })].into_iter())
                .is_elsewhere,
        );
        match input_buffer.take(|| true) {
            Some(DueStep::Steps { first, .. }) => taken += 1 + u32::from(first.is_some()),
            turn => assert!(turn.is_some()),
        }
        assert!(input_buffer.waiting.len() <= CHANGES_MAX);
    }
    assert!(taken <= 6_000 + PATIENCE_STEPS, "{taken} steps in 6,000");
    assert!(elsewhere > 10);
}

#[test]
fn a_client_with_the_fewest_possible_messages_hangs_in_the_air_a_fifth_of_the_time_at_most() {
    let mut play = Play::new(|_| Input { jump: true, ..WALK });
    for world in 0..2_000_u16 {
        if world % 40 == 0 {
            play.hear(world);
        }
        play.turn();
    }
    assert!(play.waits <= 2_000 / 5 + PATIENCE_STEPS, "{} waits", play.waits);
}

#[test]
fn a_clock_that_jumps_does_no_harm() {
    let mut input_buffer = InputBuffer::default();
    input_buffer.receive(5, [at(5, WALK)].into_iter());
    let turned = Input { yaw: 1.0, ..STAND };
    assert!(input_buffer.receive(40_000, [at(40_000, turned)].into_iter()).is_elsewhere);
    for _ in 0..WAIT_STEPS {
        input_buffer.take(|| false);
    }
    assert_eq!(
        input_buffer.take(|| false),
        Some(DueStep::Steps { number: 40_000, input: Some(turned), first: None })
    );
}

#[test]
fn the_first_step_taken_is_three_before_the_first_message_and_keeps_the_direction_of_the_walker() {
    let mut input_buffer = InputBuffer::default();
    input_buffer.receive(14, [at(14, WALK)].into_iter());
    let taken: Vec<_> = (0..4).map(|_| input_buffer.take(|| false)).collect();
    let expected = [(11, None), (12, None), (13, None), (14, Some(WALK))];
    let expected = expected.map(|(number, input)| Some(DueStep::Steps { number, input, first: None }));
    assert_eq!(taken, expected);
}

#[test]
fn a_change_that_is_not_later_than_the_one_before_it_is_ignored() {
    let mut input_buffer = InputBuffer::default();
    input_buffer.receive(20, [at(18, WALK), at(17, STAND), at(18, STAND)].into_iter());
    let inputs: Vec<_> = (0..4).filter_map(|_| input_buffer.take(|| false)).collect();
    let walks = DueStep::Steps { number: 18, input: Some(WALK), first: None };
    assert!(inputs.contains(&walks), "{inputs:?}");
    assert!(matches!(inputs.last(), Some(DueStep::Steps { number: 20, input: None, .. })), "{inputs:?}");
}

#[test]
fn an_action_waits_for_a_step_up_to_120_ahead_and_for_no_other() {
    let mut input_buffer = InputBuffer::default();
    assert!(!input_buffer.is_ahead(5), "a client that counts no steps");
    input_buffer.receive(13, [at(13, WALK)].into_iter());
    // The next step is 10.
    let waits = [9, 10, 130, 131].map(|step| input_buffer.is_ahead(step));
    assert_eq!(waits, [false, true, true, false]);
}
