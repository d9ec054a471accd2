//! Bundles: names and order of their leaves, parameters, and values that go through them.

use weft_rtl::prelude::*;

/// What fixes the widths.
#[derive(Clone)]
struct Sizes {
    id: u32,
    data: u32,
}

#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sizes)]
struct Asker {
    #[width(p.id)]
    #[below(3)]
    src: Bits,
    urgent: Bool,
}

/// A message about something, from someone whose signals have no name of their own.
#[derive(Clone, Copy, Bundle)]
#[bundle(params = Sizes)]
struct Msg<T: Data<Shape = Sizes> + Copy, U>
where
    U: Data<Shape = u32> + Copy,
{
    there: Bool,
    #[flat]
    #[shape(p.clone())]
    #[field("asker")]
    asker: Asker,
    #[shape(p.clone())]
    about: T,
    #[shape(2 * p.data)]
    payload: U,
}

type Asked = Msg<Asker, Bits>;

#[test]
fn flat_fields_have_no_name_and_parameters_bring_theirs() {
    let leaves = leaves_of::<Asked>(&Sizes { id: 2, data: 8 }, "m");
    let seen: Vec<(&str, u32)> = leaves.iter().map(|leaf| (leaf.name.as_str(), leaf.width)).collect();
    let expected = [("m_there", 1), ("m_src", 2), ("m_urgent", 1), ("m_about_src", 2), ("m_about_urgent", 1)];
    assert_eq!(seen[..5], expected);
    assert_eq!(seen[5..], [("m_payload", 16)]);
    let below: Vec<_> = leaves.iter().map(|leaf| leaf.below).collect();
    assert_eq!(below, [None, Some(3), None, Some(3), None, None]);
    assert_eq!(leaves[1].fields, [("asker".to_string(), 2)]);
    assert_eq!(leaves[0].fields, []);
}

#[test]
fn a_register_of_a_bundle_with_parameters_has_its_fields() {
    let module = Module::build("m", ModuleKind::Block, || {
        let sizes = Sizes { id: 2, data: 8 };
        let came = input::<Asked>("came", sizes.clone());
        let kept = output_reg::<Asked>("kept", sizes);
        let asker = Asker { urgent: came.asker.urgent & came.asker.src.eq(2), ..came.asker };
        kept.set(mux(came.there, Msg { asker, ..came }, kept.get()));
    });
    let module = module.expect("elaborates");
    let names: Vec<&str> = module.signals.iter().map(|signal| signal.name.as_str()).collect();
    let leaves = ["there", "src", "urgent", "about_src", "about_urgent", "payload"];
    for name in ["came", "kept"].iter().flat_map(|port| leaves.map(|leaf| format!("{port}_{leaf}"))) {
        assert!(names.contains(&name.as_str()), "{name} in {names:?}");
    }
}
