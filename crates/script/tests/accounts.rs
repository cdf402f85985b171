//! Accounts of players, and the data that follows them.

use nowcast_script::{Limits, Live, Scenario, Sources};
use nowcast_world::journal::{self, Entry, Record};
use nowcast_world::{Command, JoinRequest, PlayerId, SavedData, Value, World};
use proptest::prelude::*;

const RULES: &str = "
    local world = require('@nowcast/world')
    world.saved { default = { coins = 0, items = {}, title = 'newcomer' } }
    world.on('join', function(player) player.saved.coins += 1 end)
    world.action('buy', { item = 'text' }, function(player, given)
        if player.saved.coins >= 1 then
            player.saved.coins -= 1
            table.insert(player.saved.items, given.item)
        end
    end)
    world.action('spoil', {}, function(player) player.saved.coins = 'many' end)
    world.action('stray', {}, function(player) player.saved.other = 1 end)
    world.action('swell', {}, function(player) player.saved.title = string.rep('x', 70000) end)
    world.action('reset', {}, function(player) player.saved = { coins = 5, items = {}, title = 'again' } end)";

const CASES: &str = "
    local test = require('@nowcast/test')
    test.case('saved data follows an account through its visits', function()
        local ada = test.join('Ada', nil, 'key:ada')
        test.equal({ ada.account, ada.saved.coins }, { 'key:ada', 1 })
        test.act(ada, 'buy', { item = 'hat' })
        test.step(2)
        test.leave(ada)
        ada = test.join('Ada again', nil, 'key:ada')
        test.equal(ada.saved.coins, 1)
        test.equal(ada.saved.items, { 'hat' })
    end)
    test.case('two players of one account share its data', function()
        local one, two = test.join('One', nil, 'key:ada'), test.join('Two', nil, 'key:ada')
        test.equal({ one.saved.coins, two.saved.coins }, { 2, 2 })
        test.act(two, 'buy', { item = 'cap' })
        test.step(2)
        test.equal(one.saved.items, { 'cap' })
        test.leave(two)
        test.equal(one.saved.coins, 1)
        test.leave(one)
        test.equal(test.join('Three', nil, 'key:ada').saved.coins, 2)
    end)
    test.case('a guest has data until it leaves', function()
        local guest = test.join('Bo')
        test.equal({ guest.account, guest.saved.coins }, { nil, 1 })
        test.leave(guest)
        test.equal(test.join('Bo').saved.coins, 1)
    end)
    test.case('a whole table can be set', function()
        local ada = test.join('Ada', nil, 'key:ada')
        test.act(ada, 'reset')
        test.step(2)
        test.equal({ ada.saved.coins, ada.saved.title }, { 5, 'again' })
    end)";

fn live(rules: &str) -> Live {
    Live::new(Sources::of_main(rules), 1, Limits::DEFAULT).expect("the rules load")
}

fn join(player: u32, account: &str, saved: Option<SavedData>) -> Command {
    let account = Some(account.to_owned());
    let request = JoinRequest { name: "Ada".into(), account, saved, ..JoinRequest::default() };
    Command::Join { player: PlayerId(player), request }
}

fn act(player: u32, name: &str) -> Command {
    let arguments = match name {
        "buy" => Value::Map(vec![("item".into(), "hat".into())]),
        _ => Value::Map(Vec::new()),
    };
    Command::Action { player: PlayerId(player), name: name.into(), arguments }
}

/// All reports of a world as text.
fn reports(live: &mut Live) -> String {
    std::iter::from_fn(|| live.poll_report()).map(|report| format!("{report:?}\n")).collect()
}

fn field<'a>(world: &'a World, player: u32, name: &str) -> Option<&'a Value> {
    world.scene().saved(PlayerId(player))?.value.get(name)
}

#[test]
fn saved_data_follows_accounts_in_scenarios() {
    let sources = Sources::from_iter([("world.luau", RULES), ("tests/accounts.luau", CASES)]);
    let scenario = Scenario::new(sources, "tests/accounts.luau", Limits::DEFAULT).expect("it loads");
    assert_eq!(scenario.cases().len(), 4);
    for (case, name) in scenario.cases().iter().enumerate() {
        let failure = scenario.run(case, 1).failure.map(|fault| fault.to_string());
        assert_eq!(failure, None, "{name}");
    }
}

#[test]
fn a_player_with_an_account_stays_when_the_rules_that_it_met_are_rolled_back() {
    let mut live = live(RULES);
    live.step();
    let failing =
        format!("{RULES}\nworld.on('step', function() if world.tick() == 4 then error('broken') end end)");
    live.reload(Sources::of_main(&failing)).expect("the rules load");
    live.apply(join(1, "key:ada", None)).unwrap();
    for _ in 0..6 {
        live.step();
    }
    let told = reports(&mut live);
    assert!(told.contains("RolledBack"), "{told}");
    let ada = live.world().scene().player(PlayerId(1)).expect("the player joined before the error");
    assert_eq!(ada.account.as_deref(), Some("key:ada"));
    assert_eq!(field(live.world(), 1, "coins").and_then(Value::as_f64), Some(1.0));
}

#[test]
fn a_table_without_the_declared_form_is_reported_and_set_back() {
    let reasons = [
        ("spoil", "saved.coins is a number"),
        ("stray", "saved.other is not declared"),
        ("swell", "at most 65536 bytes"),
    ];
    for (action, reason) in reasons {
        let mut live = live(RULES);
        live.apply(join(1, "key:ada", None)).unwrap();
        live.step();
        live.apply(act(1, action)).unwrap();
        live.step();
        let told = reports(&mut live);
        assert!(told.contains(reason), "{action}: {told}");
        assert_eq!(field(live.world(), 1, "coins").and_then(Value::as_f64), Some(1.0), "{action}");
        live.apply(act(1, "buy")).unwrap();
        live.step();
        assert_eq!(field(live.world(), 1, "coins").and_then(Value::as_f64), Some(0.0), "{action}");
    }
}

#[test]
fn data_of_an_older_form_is_upgraded_and_data_of_a_newer_one_is_left_alone() {
    let rules = "
        local world = require('@nowcast/world')
        world.saved { version = 3, default = { gold = 0 }, upgrade = function(data, version)
            return { gold = data.coins * 10 + version }
        end }
        world.on('join', function(player) player.saved.gold += 1 end)";
    let stored = |version| SavedData {
        version,
        revision: 8,
        value: Value::Map(vec![("coins".into(), 4.into()), ("old".into(), true.into())]),
    };
    let mut live = live(rules);
    live.apply(join(1, "key:ada", Some(stored(2)))).unwrap();
    live.step();
    assert_eq!(field(live.world(), 1, "gold").and_then(Value::as_f64), Some(43.0));
    let data = live.world().scene().saved(PlayerId(1)).expect("it is saved");
    assert_eq!((data.version, data.revision), (3, 9));

    live.apply(join(2, "key:bo", Some(stored(4)))).unwrap();
    live.step();
    assert_eq!(live.world().scene().saved(PlayerId(2)), Some(&stored(4)));
    let told = reports(&mut live);
    assert!(told.contains("has version 4, and these rules declare version 3"), "{told}");
}

#[test]
fn a_declaration_with_a_mistake_is_refused_by_name() {
    let mistakes = [
        ("world.saved {}", "needs the first values"),
        ("world.saved { default = {}, versoin = 2 }", "versoin"),
        ("world.saved { default = {}, version = 0 }", "whole number from 1"),
        ("world.saved { default = {} } world.saved { default = {} }", "twice"),
    ];
    for (line, reason) in mistakes {
        let text = format!("local world = require('@nowcast/world')\n{line}");
        let fault = Live::new(Sources::of_main(&text), 1, Limits::DEFAULT).err().expect("it is refused");
        assert!(fault.to_string().contains(reason), "{line}: {fault}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Random visits of three accounts, with a snapshot and a restore anywhere: a replay of the journal and a restored world
    /// have the hash of the original, and the stored data equals a plain model.
    #[test]
    fn accounts_survive_replay_and_restore(visits in proptest::collection::vec((0u8..3, 0u8..4), 1..40), cut in 0usize..40) {
        let mut running = live(RULES);
        let (mut entries, mut stored) = (Vec::new(), std::collections::BTreeMap::new());
        let mut present: Vec<(u32, u8)> = Vec::new();
        let mut model = [(0.0, 0usize); 3];
        let mut next = 0;
        let mut restored: Option<Live> = None;
        for (at, (account, verb)) in visits.into_iter().enumerate() {
            let name = format!("key:{account}");
            let found = present.iter().position(|(_, of)| *of == account);
            let command = match (verb, found) {
                (0, _) => {
                    next += 1;
                    present.push((next, account));
                    model[usize::from(account)].0 += 1.0;
                    join(next, &name, stored.get(&name).cloned())
                }
                (1, Some(index)) => Command::Leave { player: PlayerId(present.remove(index).0) },
                (_, Some(index)) => {
                    let (coins, items) = &mut model[usize::from(account)];
                    if *coins >= 1.0 {
                        *coins -= 1.0;
                        *items += 1;
                    }
                    act(present[index].0, "buy")
                }
                (_, None) => continue,
            };
            for live in std::iter::once(&mut running).chain(restored.as_mut()) {
                live.apply(command.clone()).unwrap();
            }
            entries.push(Entry { tick: running.world().tick(), record: Record::Command(command) });
            running.step();
            stored.extend(running.parts().0.take_saved());
            if let Some(restored) = &mut restored {
                restored.step();
                prop_assert_eq!(restored.world().hash(), running.world().hash());
            }
            if at == cut {
                let bytes = running.parts().0.snapshot();
                entries.push(Entry { tick: running.world().tick(), record: Record::Settled });
                let sources = Sources::of_main(RULES);
                let again = Live::resume(sources, Limits::DEFAULT, |definition, rules| {
                    World::restore(definition, rules, &bytes)
                });
                restored = Some(again.map_err(|error| TestCaseError::fail(error.to_string()))?);
            }
        }
        for (account, (coins, items)) in model.into_iter().enumerate() {
            let Some(data) = stored.get(&format!("key:{account}")) else { continue };
            prop_assert_eq!(data.value.get("coins").and_then(Value::as_f64), Some(coins));
            let list = data.value.get("items");
            let count = match list { Some(Value::List(list)) => list.len(), _ => 0 };
            prop_assert_eq!(count, items);
        }
        let mut bytes = Vec::new();
        journal::encode(&entries, &mut bytes);
        let mut again = live(RULES);
        let through = running.world().tick();
        journal::replay(again.parts().0, journal::decode(&bytes).unwrap(), through).unwrap();
        prop_assert_eq!(again.world().hash(), running.world().hash());
    }
}
